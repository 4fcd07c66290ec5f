#pragma once
// Attention of a device that has some of the tokens of its samples, and attends to those of its context
// group.

#include <array>

#include "worker/context_core.hpp"

namespace penstock::replay {

/// Projects its own tokens and leaves the rest to a ContextCore. Slots are those of the whole attention, for
/// fewer tokens. Saved in addition to the core's tensors: the core's output for its own tokens.
class ContextAttention : public kernels::Kernel {
 public:
  /// For an attention of the device's stages. Throws BadInput like the kernels.
  ContextAttention(DeviceContext& device, const ContextGroup& group, core::OpId id, std::int64_t samples);

  const kernels::KernelSlots& slots() const override { return slots_; }
  bool has(graph::Pass) const override { return true; }
  void run(graph::Pass pass, const kernels::Operands& operands, kernels::Stream& stream) override;
  std::string algorithm(graph::Pass pass) const override;
  core::Bytes workspace(graph::Pass pass) const override;

 private:
  kernels::Operands projection(std::size_t which, const kernels::Operands& all) const;
  void forward(const kernels::Operands& all, kernels::Stream& stream);
  void input_gradients(const kernels::Operands& all, kernels::Stream& stream);
  void weight_gradients(const kernels::Operands& all, kernels::Stream& stream);

  DeviceContext& device_;
  const std::string name_;
  std::array<kernels::Kernel*, 4> dense_{};  ///< of query, key, value and result
  std::unique_ptr<ContextCore> core_;
  kernels::KernelSlots slots_;
};

}  // namespace penstock::replay
