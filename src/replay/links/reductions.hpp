#pragma once
// Gradient sums of a program, and the updates that wait for them.

#include <optional>
#include <vector>

#include "penstock/plan/plan.hpp"
#include "penstock/replay/program.hpp"
#include "penstock/replay/worker.hpp"

namespace penstock::replay {

/// One sum over all replicas of a stage; with tensor parallelism, over the devices with equal numbers within
/// their groups. Or a sum over the devices of several stages, in the same way.
struct GradientReduction {
  core::StageId stage;                             ///< stage of the owner, for several stages
  std::vector<core::DeviceId> devices;             ///< [replica] each once
  std::vector<std::size_t> position;               ///< [replica] position in the device's instructions
  core::Bytes bytes;                               ///< bytes of gradients per replica
  std::optional<plan::SharedParameters> shared{};  ///< for a sum over several stages
};

/// The k-th REDUCE_GRAD of a stage on all its replicas is one reduction, for which its k-th STEP waits. There
/// is none for a single replica: sums within a group belong to the workers. Sums of shared parameters follow,
/// in their order. The STEP of a stage that takes part in some waits for the last, because a device runs its
/// sums one after the other.
struct ReductionList {
  ReductionList(const DevicePrograms& program, const graph::OpGraph& graph, const plan::Plan& plan);

  std::vector<GradientReduction> list;
  /// [device][position] index into `list`: the reduction of a REDUCE_GRAD, or the one that a STEP waits for;
  /// otherwise -1.
  std::vector<std::vector<std::int32_t>> at;

 private:
  void add_own(const DevicePrograms& program, const graph::OpGraph& graph, const plan::Plan& plan,
               std::size_t s);
  void add_shared(const DevicePrograms& program, const graph::OpGraph& graph, const plan::Plan& plan,
                  std::size_t k);
  void note_shared(const DevicePrograms& program, const plan::Plan& plan, std::int32_t k,
                   GradientReduction& sum);
  void add(const DevicePrograms& program, core::StageId stage, const std::vector<core::DeviceId>& devices,
           core::Bytes bytes);
};

/// Operators of the stage whose gradients its own reductions sum: not those that other stages share, nor
/// divided experts, whose holders sum among themselves.
std::vector<core::OpId> summed(const DevicePrograms& program, const graph::OpGraph& graph,
                               const plan::Stage& stage);

/// The device's terms of the sum: for each of its stages that take part, gradients in the same order. In the
/// sum they are one term.
std::vector<std::vector<BufferRegion>> terms(const GradientReduction& reduction, const plan::Plan& plan,
                                             core::DeviceId device, Worker& worker);

}  // namespace penstock::replay
