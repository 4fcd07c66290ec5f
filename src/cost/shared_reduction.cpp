#include "penstock/cost/shared_reduction.hpp"

#include <algorithm>
#include <cmath>

#include "penstock/core/error.hpp"
#include "penstock/layout/ties.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/plan/mesh.hpp"
#include "zero_traffic.hpp"

namespace penstock::cost {
namespace {

/// True if devices of one number have the same part of the owner's everywhere.
bool alike(const graph::OpGraph& graph, const plan::Plan& plan, const plan::SharedParameters& shared) {
  const plan::Stage& first = plan.stages[shared.stages.front().index()];
  const core::OpId owner = shared.owners.front();
  const auto axis = layout::weight_axis(graph, first, owner);
  return axis && std::all_of(shared.stages.begin(), shared.stages.end(), [&](core::StageId s) {
           const plan::Stage& stage = plan.stages[s.index()];
           return stage.tensor_parallel == first.tensor_parallel && stage.shares == first.shares &&
                  layout::weight_axis(graph, stage, owner) == axis;
         });
}

/// True if the stages are all parts of one, and no others.
bool one_stage(const plan::Plan& plan, const plan::SharedParameters& shared) {
  std::int64_t replicas = 0;
  for (const core::StageId s : shared.stages)
    replicas += plan.stages[s.index()].part ? plan.stages[s.index()].replicas() : 0;
  const plan::StagePart& first = plan.stages[shared.stages.front().index()].part;
  const plan::StagePart& last = plan.stages[shared.stages.back().index()].part;
  return first && last && first.before == 0 && replicas == first.of;
}

/// Sums gradients as the stage whose parts these are would, all at once.
GradientReduction sum_of_parts(const Problem& problem, const plan::Plan& plan,
                               const plan::SharedParameters& shared) {
  const plan::Stage whole = plan::whole_stage(plan, shared.stages);
  std::vector<GradientReduction> sums = reductions(problem, whole, shared.owners);
  core::require(sums.size() == 1, "a colocated stage has one sum of its gradients");
  return std::move(sums.front());
}

}  // namespace

GradientReduction shared_reduction(const Problem& problem, const plan::Plan& plan,
                                   const plan::SharedParameters& shared) {
  if (one_stage(plan, shared)) return sum_of_parts(problem, plan, shared);
  const plan::Stage& first = plan.stages[shared.stages.front().index()];
  const core::Bytes whole = problem.graph.parameter_bytes(shared.owners.front());
  const auto gradients = [&](double bytes) {
    return sent_gradients(problem, first, core::Bytes(static_cast<std::int64_t>(std::ceil(bytes))));
  };
  const auto all = plan::devices(shared, plan);
  if (first.tensor_parallel == 1 || !alike(problem.graph, plan, shared))
    return {DeviceGroups::List{all}, gradients(static_cast<double>(whole.value())), false};
  const auto groups = plan::Mesh(all, first.tensor_parallel).groups(plan::MeshDim::data);
  double most = 0;
  for (std::size_t m = 0; m < groups.size(); ++m) most = std::max(most, part_of(first, m));
  return {groups, gradients(static_cast<double>(whole.value()) * most), false};
}

}  // namespace penstock::cost
