#pragma once
// A mixture of experts that an expert group divides: every device has some experts.

#include <span>
#include <vector>

#include "penstock/layout/experts.hpp"
#include "penstock/plan/plan.hpp"
#include "worker/collectives.hpp"
#include "worker/regions.hpp"

namespace penstock::replay {

/// Copies of rows on their way to their experts, and back.
struct ExpertRoutes {
  std::vector<std::int64_t> expert{};  ///< [copy] expert among all; the copies of a row are consecutive
  std::vector<float> share{};          ///< [copy] share in its row
  std::vector<std::size_t> order{};    ///< copies in the order of sending
  std::vector<std::vector<std::size_t>>
      starts{};  ///< [sender][device, and one more] index in the data of the sender

  std::size_t count(std::size_t sender, std::size_t device) const {
    return starts[sender][device + 1] - starts[sender][device];
  }
  /// Index of the sender's first copy among all copies that arrive at the device.
  std::size_t arrives(std::size_t device, std::size_t sender) const;
};

/// Tensors that one micro-batch keeps for a mixture from its forward pass on, for as many rows as arrived,
/// which is not known before. One of the saved tensors.
struct DispatchedRows : kernels::Buffer {
  DispatchedRows() : Buffer(kernels::Element::fp32, 0) {}
  void* data() const override { return nullptr; }

  ExpertRoutes routes;
  std::vector<float> results;               ///< returned results, copy by copy
  std::unique_ptr<kernels::Kernel> kernel;  ///< for as many rows as arrived
  Lease rows, choices, output, gradient;    ///< of these rows
  std::vector<Lease> saved, handed;         ///< of the kernel
};

/// Forward: every device sends copies of its rows to the devices of their experts, which process them, and
/// adds up the results, weighted by shares. Backward likewise (Lepikhin et al., GShard, ICLR 2021, section
/// 3.2). A pass's exchanges take the time of the cost model, with the plan's imbalance; rows go where the
/// router sends them. Differs from the kernel of a whole mixture: shares weight results, not the inputs of
/// the last matrix, and are rounded with them.
class ExpertDispatch : public kernels::Kernel {
 public:
  /// For a mixture of the device's stages. Throws BadInput like the kernels.
  ExpertDispatch(DeviceContext& device, const plan::Stage& stage, core::OpId id, std::int64_t samples);

  /// Returns the only saved tensor of a micro-batch.
  static Lease room() { return std::make_shared<DispatchedRows>(); }

  const kernels::KernelSlots& slots() const override { return slots_; }
  bool has(graph::Pass) const override { return true; }
  void run(graph::Pass pass, const kernels::Operands& operands, kernels::Stream& stream) override;
  std::string algorithm(graph::Pass) const override { return "experts of a group"; }
  core::Bytes workspace(graph::Pass) const override { return core::Bytes(0); }

 private:
  using Numbers = std::vector<float>;
  void forward(const kernels::Operands& all, DispatchedRows& kept, kernels::Stream& stream);
  void input_gradients(const kernels::Operands& all, DispatchedRows& kept, kernels::Stream& stream);
  std::vector<std::size_t> experts_of(std::size_t row, std::span<const float> probabilities) const;
  ExpertRoutes routes_of(std::span<const float> probabilities) const;
  std::size_t device_of(std::int64_t expert) const { return static_cast<std::size_t>(expert) / own_experts_; }
  void receive(std::span<const float> rows, DispatchedRows& kept);
  Numbers sent(const ExpertRoutes& routes, std::span<const float> rows) const;
  void take(const ExpertRoutes& routes, const std::vector<GroupPeers::Shared>& all, std::size_t piece,
            kernels::Buffer& into) const;
  void make_room(DispatchedRows& kept, const std::vector<std::size_t>& experts) const;
  Numbers returned(const ExpertRoutes& routes, std::span<const float> made) const;
  void add_up(std::span<const float> copies, std::span<const float> shares, std::span<float> rows) const;
  void probability_gradients(std::span<const float> probabilities, std::span<const float> gradient,
                             const DispatchedRows& kept, std::span<float> out) const;
  template <class Number>
  std::span<Number> row(std::span<Number> of, std::size_t number) const {
    return of.subspan(number * hidden_, hidden_);
  }
  kernels::Operands local(const kernels::Operands& all, const DispatchedRows& kept) const;
  void share(const GroupPeers::Shared& own, core::Seconds time,
             const std::function<void(const std::vector<GroupPeers::Shared>&)>& use) const;
  Lease acquire(const kernels::Slot& slot, plan::MemoryKind kind) const;
  FloatView floats(kernels::Buffer& buffer) const;

  DeviceContext& device_;
  const std::string name_;
  graph::Operator one_row_;  ///< of the device's experts
  /// Rows of all samples; experts of all devices.
  std::size_t rows_, hidden_, chosen_, experts_, own_experts_;
  std::size_t sample_rows_;
  bool in_turn_;
  core::Seconds time_;
  kernels::KernelSlots slots_;
};

}  // namespace penstock::replay
