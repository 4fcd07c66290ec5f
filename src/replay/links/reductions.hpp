#pragma once
// Which sums of gradients there are in a program, and which update waits for which.

#include <optional>
#include <vector>

#include "penstock/plan/plan.hpp"
#include "penstock/replay/program.hpp"
#include "penstock/replay/worker.hpp"

namespace penstock::replay {

/// One sum over all replicas of a stage, with tensor parallelism over the devices of one number within their
/// groups; or over the devices of several stages, with tensor parallelism again those of one number.
struct Reduction {
  core::StageId stage;                             ///< of several that of the owner
  std::vector<core::DeviceId> devices;             ///< [replica], each once
  std::vector<std::size_t> position;               ///< [replica] where it stands in the device's instructions
  core::Bytes bytes;                               ///< of the gradients of each
  std::optional<plan::SharedParameters> shared{};  ///< of a sum over several stages
};

/// The k-th REDUCE_GRAD of a stage on each of its replicas is one reduction, which its k-th STEP waits for.
/// None where there is one replica: what a group sums among itself is the workers' own. After these come the
/// sums of shared parameters, in their order; the STEP of a stage that takes part in some waits for the last:
/// a device runs its sums one after the other.
struct Reductions {
  Reductions(const DevicePrograms& program, const graph::OpGraph& graph, const plan::Plan& plan);

  std::vector<Reduction> list;
  /// [device][position] index into `list`: what a REDUCE_GRAD takes part in, what a STEP waits for; else -1.
  std::vector<std::vector<std::int32_t>> at;

 private:
  void add_own(const DevicePrograms& program, const graph::OpGraph& graph, const plan::Plan& plan,
               std::size_t s);
  void add_shared(const DevicePrograms& program, const graph::OpGraph& graph, const plan::Plan& plan,
                  std::size_t k);
  void note_shared(const DevicePrograms& program, const plan::Plan& plan, std::int32_t k, Reduction& sum);
  void add(const DevicePrograms& program, core::StageId stage, const std::vector<core::DeviceId>& devices,
           core::Bytes bytes);
};

/// Operators of the stage whose gradients its own reductions sum: neither what other stages share, nor
/// experts that are divided, whose holders sum among themselves.
std::vector<core::OpId> summed(const DevicePrograms& program, const graph::OpGraph& graph,
                               const plan::Stage& stage);

/// What the device has of the sum: of each of its stages that take part, gradients in the same order. In the
/// sum they are one term.
std::vector<std::vector<Region>> terms(const Reduction& reduction, const plan::Plan& plan,
                                       core::DeviceId device, Worker& worker);

}  // namespace penstock::replay
