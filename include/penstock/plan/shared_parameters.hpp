#pragma once
// Parameters that several stages use: by operators of each, or as parts of one colocated stage.

#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::plan {

/// Every device of these stages keeps a copy. Before the stages update theirs, gradients are summed over all
/// devices of all of them, so that copies stay equal (Megatron-LM: Shoeybi et al., 2019, section 3; its
/// embedding group). Differs: Megatron-LM first sums over the replicas of each stage, then between the first
/// and the last stage, replica by replica, which needs as many of both; one sum over all does not.
struct SharedParameters {
  std::vector<core::OpId> owners;     ///< the operators that the graph counts them at; several only where the
                                      ///< stages are the parts of one, which sum all their gradients at once
  std::vector<core::StageId> stages;  ///< ascending, the owners' among them; two or more
};

/// Shared parameters of a plan by their first owner, ascending (OpGraph::owner). Precondition: every operator
/// is in one stage, or in all parts of one.
std::vector<SharedParameters> shared_parameters(const graph::OpGraph& graph, const Plan& plan);

/// Whether all of these stages are behind the pipeline (plan/colocated.hpp): their gradients are there before
/// those of any other stage, and are summed first.
bool summed_first(const SharedParameters& shared, const Plan& plan);

/// The stage of the owners, the first of several.
core::StageId home(const SharedParameters& shared, const Plan& plan);
/// Sharing stages that run on this device; empty where none does.
std::vector<core::StageId> stages_on(const SharedParameters& shared, const Plan& plan, core::DeviceId device);
/// Devices of all the stages, each once, in the order of the stages.
std::vector<core::DeviceId> devices(const SharedParameters& shared, const Plan& plan);

/// `operators` without the owners of shared parameters: what a stage's replicas reduce among themselves.
std::vector<core::OpId> unshared(const std::vector<core::OpId>& operators,
                                 const std::vector<SharedParameters>& shared);

}  // namespace penstock::plan
