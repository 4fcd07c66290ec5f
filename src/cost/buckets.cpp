#include "penstock/cost/buckets.hpp"

#include <algorithm>

#include "penstock/graph/ties.hpp"

namespace penstock::cost {
namespace {

/// True of the first chunk of the first rank: an operator reads none.
bool begins_model(const graph::OpGraph& graph, const plan::Stage& stage) {
  return std::ranges::any_of(stage.operators, [&](core::OpId op) {
    return graph.dag().predecessors(static_cast<graph::Vertex>(op.index())).empty();
  });
}

}  // namespace

core::Bytes bucket_size(const Problem& problem, const plan::Stage& stage) {
  const bool one = framework_memory(problem).buckets_first_chunk && !begins_model(problem.graph, stage);
  return one ? core::Bytes(0) : problem.training.bucket;
}

std::vector<GradientBucket> buckets(const Problem& problem, const plan::Stage& stage) {
  const graph::OpGraph& graph = problem.graph;
  const plan::Training& training = problem.training;
  const core::Bytes full = bucket_size(problem, stage);
  const bool cut = full.value() > 0 && plan::reduces_gradients(stage) && !stage.spans_ranks();
  const auto gradients = [&](core::OpId op) { return training.gradients(graph.parameter_bytes(op)); };
  std::vector<GradientBucket> out(1);
  for (auto op = stage.operators.rbegin(); op != stage.operators.rend(); ++op) {
    if (cut && out.back().gradients >= full && gradients(*op).value() > 0) out.emplace_back();
    out.back().operators.push_back(*op);
    out.back().gradients += gradients(*op);
  }
  for (const auto& [owner, users] : graph::borrowed(graph, stage.operators))
    out.back().gradients += gradients(owner);
  return out;
}

}  // namespace penstock::cost
