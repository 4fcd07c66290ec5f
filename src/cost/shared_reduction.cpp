#include "penstock/cost/shared_reduction.hpp"

#include <algorithm>
#include <cmath>

#include "penstock/layout/ties.hpp"
#include "penstock/plan/mesh.hpp"

namespace penstock::cost {
namespace {

/// Whether devices of one number have the same part everywhere.
bool alike(const graph::OpGraph& graph, const plan::Plan& plan, const plan::SharedParameters& shared) {
  const plan::Stage& first = plan.stages[shared.stages.front().index()];
  const auto axis = layout::weight_axis(graph, first, shared.owner);
  return axis && std::all_of(shared.stages.begin(), shared.stages.end(), [&](core::StageId s) {
           const plan::Stage& stage = plan.stages[s.index()];
           return stage.tensor_parallel == first.tensor_parallel && stage.shares == first.shares &&
                  layout::weight_axis(graph, stage, shared.owner) == axis;
         });
}

}  // namespace

Reduction shared_reduction(const Problem& problem, const plan::Plan& plan,
                           const plan::SharedParameters& shared) {
  const plan::Stage& first = plan.stages[shared.stages.front().index()];
  const core::Bytes whole = problem.graph.parameter_bytes(shared.owner);
  const auto gradients = [&](double bytes) {
    return problem.training.sent_gradients(core::Bytes(static_cast<std::int64_t>(std::ceil(bytes))));
  };
  const auto all = plan::devices(shared, plan);
  if (first.tensor_parallel == 1 || !alike(problem.graph, plan, shared))
    return {{all}, gradients(static_cast<double>(whole.value())), false};
  const auto groups = plan::Mesh(all, first.tensor_parallel).groups(plan::MeshDim::data);
  double most = 0;
  for (std::size_t m = 0; m < groups.size(); ++m) most = std::max(most, part_of(first, m));
  return {groups, gradients(static_cast<double>(whole.value()) * most), false};
}

}  // namespace penstock::cost
