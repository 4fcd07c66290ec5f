#pragma once
// Parameters that several stages use: tied operators in different stages, or the parts of one colocated
// stage.

#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::plan {

/// Parameters of which every device of several stages keeps a copy. Before these stages update, gradients are
/// summed over all their devices, so that copies stay equal (Megatron-LM: Shoeybi et al., 2019, section 3;
/// its embedding group). Differs: Megatron-LM first sums over the replicas of each stage, then between the
/// first and the last stage, replica by replica, which needs equally many replicas in both. One sum over all
/// devices does not.
struct SharedParameters {
  /// Operators that own the parameters in the graph. Several only for the parts of one colocated stage, which
  /// sum all their gradients at once.
  std::vector<core::OpId> owners;
  std::vector<core::StageId> stages;  ///< ascending, including that of the owners; two or more
};

/// Shared parameters of a plan, sorted by first owner (OpGraph::owner). Precondition: every operator is in
/// one stage, or in all parts of one.
std::vector<SharedParameters> shared_parameters(const graph::OpGraph& graph, const Plan& plan);

/// True if all these stages are behind the pipeline (plan/colocated.hpp): their gradients are complete before
/// those of other stages, and are summed first.
bool summed_first(const SharedParameters& shared, const Plan& plan);

/// Stage of the owners; the first one if there are several.
core::StageId home(const SharedParameters& shared, const Plan& plan);
/// Sharing stages that run on this device; empty if there are none.
std::vector<core::StageId> stages_on(const SharedParameters& shared, const Plan& plan, core::DeviceId device);
/// Devices of all the stages, each once, in the order of the stages.
std::vector<core::DeviceId> devices(const SharedParameters& shared, const Plan& plan);

/// Returns `operators` without the owners of shared parameters: a stage's replicas reduce these among
/// themselves.
std::vector<core::OpId> unshared(const std::vector<core::OpId>& operators,
                                 const std::vector<SharedParameters>& shared);

}  // namespace penstock::plan
