#include "tensor/mesh_sizes.hpp"

#include <algorithm>

#include "penstock/layout/context.hpp"
#include "penstock/layout/experts.hpp"
#include "row_plan.hpp"

namespace penstock::planners {
namespace {

/// A plan with all operators in one stage, to which rules are applied.
plan::Plan whole_model(const cost::Problem& problem) {
  plan::Plan out;
  out.stages.emplace_back();
  for (std::size_t v = 0; v < problem.graph.size(); ++v) out.stages.front().operators.emplace_back(v);
  return out;
}

}  // namespace

std::vector<int> context_sizes(const cost::Problem& problem, const SearchOptions& options,
                               std::int64_t most) {
  plan::Plan whole = whole_model(problem);
  auto sizes = rank_sizes(problem, options);
  std::erase_if(sizes, [&](int size) {
    whole.stages.front().context_parallel = size;
    return size > most || !layout::context_violations(problem.graph, whole).empty();
  });
  return sizes;
}

std::vector<int> expert_sizes(const cost::Problem& problem, const SearchOptions& options, std::int64_t most) {
  const auto mixes = [](const graph::Operator& op) { return op.kind == graph::OpKind::experts; };
  if (std::ranges::none_of(problem.graph.operators(), mixes)) return {1};
  plan::Plan whole = whole_model(problem);
  auto sizes = rank_sizes(problem, options);
  std::erase_if(sizes, [&](int size) {
    whole.stages.front().expert_parallel = size;
    return size > most || !layout::expert_violations(problem.graph, whole).empty();
  });
  return sizes;
}

}  // namespace penstock::planners
