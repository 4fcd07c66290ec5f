#include "penstock/cost/buckets.hpp"

#include "penstock/graph/ties.hpp"

namespace penstock::cost {

std::vector<GradientBucket> buckets(const Problem& problem, const plan::Stage& stage) {
  const graph::OpGraph& graph = problem.graph;
  const plan::Training& training = problem.training;
  const bool cut = training.bucket.value() > 0 && plan::reduces_gradients(stage) && !stage.spans_ranks();
  const auto gradients = [&](core::OpId op) { return training.gradients(graph.parameter_bytes(op)); };
  std::vector<GradientBucket> out(1);
  for (auto op = stage.operators.rbegin(); op != stage.operators.rend(); ++op) {
    if (cut && out.back().gradients >= training.bucket && gradients(*op).value() > 0) out.emplace_back();
    out.back().operators.push_back(*op);
    out.back().gradients += gradients(*op);
  }
  for (const auto& [owner, users] : graph::borrowed(graph, stage.operators))
    out.back().gradients += gradients(owner);
  return out;
}

}  // namespace penstock::cost
