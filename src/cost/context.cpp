#include "penstock/cost/context.hpp"

#include <algorithm>

#include "penstock/cost/stage_memo.hpp"
#include "penstock/graph/graph_file.hpp"
#include "penstock/layout/experts.hpp"
#include "penstock/plan/mesh.hpp"

namespace penstock::cost {
namespace {

using core::Bytes;
using core::Seconds;

bool is_divided(const plan::Stage& stage) {
  return stage.context_parallel > 1 || stage.expert_parallel > 1;
}

graph::OpGraph divided(const graph::OpGraph& graph, const plan::Stage& stage) {
  const auto experts = [&](const graph::OpGraph& whole) {
    return layout::expert_graph(whole, stage.expert_parallel, stage.imbalance);
  };
  if (stage.context_parallel == 1) return experts(graph);
  graph::OpGraph tokens = layout::local_graph(graph, stage.context_parallel);
  return stage.expert_parallel == 1 ? tokens : experts(tokens);
}

/// Divided model in the form that a memo keeps.
struct DividedModel {
  graph::OpGraph graph;
  friend bool operator==(const DividedModel& a, const DividedModel& b) {
    return graph::to_json(a.graph) == graph::to_json(b.graph);
  }
};
/// About what operators and edges take.
std::int64_t held_bytes(const DividedModel& model) {
  constexpr std::int64_t kOperator = 512;
  return kOperator * static_cast<std::int64_t>(model.graph.size());
}

}  // namespace

LocalModel::LocalModel(const graph::OpGraph& graph, const plan::Stage& stage) : graph_(graph) {
  if (is_divided(stage)) divided_ = std::make_shared<const graph::OpGraph>(divided(graph, stage));
}

LocalModel::LocalModel(const Problem& problem, const plan::Stage& stage) : graph_(problem.graph) {
  if (!is_divided(stage)) return;
  plan::Stage sizes;  // only these
  sizes.context_parallel = stage.context_parallel;
  sizes.expert_parallel = stage.expert_parallel;
  sizes.imbalance = stage.imbalance;
  const StageKey key("local model", sizes);
  const auto model =
      StageMemo::recall(problem, key, [&] { return DividedModel{divided(problem.graph, stage)}; });
  divided_ = {model, &model->graph};
}

LocalProblem::LocalProblem(const Problem& problem, const plan::Stage& stage)
    : model_(problem, stage),
      problem_{model_.get(), problem.cluster, problem.costs, problem.training, problem.memory} {}

AffineTime ring_hop(const cluster::Cluster& cluster, std::span<const std::vector<core::DeviceId>> groups) {
  std::vector<cluster::Route> routes;
  collective::Crowd messages(cluster.links().size(), 0);
  for (const auto& group : groups)
    for (std::size_t i = 0; i < group.size(); ++i) {
      routes.push_back(cluster.route(group[i], group[(i + 1) % group.size()]));
      for (const std::size_t link : routes.back().links) ++messages[link];
    }
  collective::StepTime slowest;
  for (const cluster::Route& route : routes) slowest.include(cluster, route, messages);
  return {slowest.latency, slowest.per_byte};
}

RingTimes::RingTimes(const cluster::Cluster& cluster, const plan::Stage& stage)
    : size_(stage.context_parallel),
      hop_(ring_hop(cluster, plan::Mesh(stage).groups(plan::MeshDim::context))) {}

OpTime RingTimes::time(Bytes keys_values, Seconds core_forward, Seconds core_backward, Seconds launch) const {
  const Bytes block((keys_values.value() + size_ - 1) / size_);
  const auto hop = [&](Bytes bytes) { return std::max(launch, Seconds(hop_.at(bytes))); };
  const auto exposed = [&](Seconds sent, Seconds core) {
    return std::max(Seconds(0), sent - core / size_) * (size_ - 1);
  };
  return {exposed(hop(block), core_forward), exposed(hop(block * 2), core_backward) + hop(block), Seconds(0)};
}

}  // namespace penstock::cost
