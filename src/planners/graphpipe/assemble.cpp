#include "graphpipe/assemble.hpp"

#include <algorithm>
#include <functional>
#include <queue>

#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/in_flight.hpp"

namespace penstock::planners {
namespace {

using core::StageId;

/// Kahn's algorithm over the stages; among ready ones the earliest in the arrangement goes first.
std::vector<std::size_t> stage_order(const graph::OpGraph& graph, const StageTable& table,
                                     const std::vector<PartStage>& stages) {
  std::vector<std::size_t> stage_of(graph.size());
  for (std::size_t s = 0; s < stages.size(); ++s)
    for (core::OpId op : table.operators(stages[s].set)) stage_of[op.index()] = s;
  std::vector<std::vector<std::size_t>> next(stages.size());
  std::vector<int> waiting(stages.size(), 0);
  for (const auto& [from, to] : graph.dag().edges()) {
    const std::size_t a = stage_of[static_cast<std::size_t>(from)],
                      b = stage_of[static_cast<std::size_t>(to)];
    if (a == b) continue;
    next[a].push_back(b);
    ++waiting[b];
  }
  using Ready = std::pair<int, std::size_t>;  // first position, stage
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  const auto enter = [&](std::size_t s) { ready.emplace(stages[s].set.front().begin, s); };
  for (std::size_t s = 0; s < stages.size(); ++s)
    if (waiting[s] == 0) enter(s);
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t s = ready.top().second;
    ready.pop();
    order.push_back(s);
    for (std::size_t n : next[s])
      if (--waiting[n] == 0) enter(n);
  }
  core::require(order.size() == stages.size(), "a partition's stages form no cycle");
  return order;
}

}  // namespace

void place(plan::Plan& plan, const std::vector<int>& replicas) {
  std::vector<bool> placed(plan.stages.size(), false);
  std::size_t device = 0;
  for (std::size_t done = 0; done < plan.stages.size(); ++done) {
    std::size_t chosen = plan.stages.size();
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      if (placed[s]) continue;
      if (chosen == plan.stages.size()) chosen = s;  // first in order, unless an aligned one is found
      if (device % static_cast<std::size_t>(replicas[s]) != 0) continue;
      chosen = s;
      break;
    }
    placed[chosen] = true;
    plan.stages[chosen].devices.clear();
    for (int r = 0; r < replicas[chosen]; ++r) plan.stages[chosen].devices.emplace_back(device++);
  }
}

plan::Plan assemble(const cost::Problem& problem, const StageTable& table,
                    const std::vector<PartStage>& stages, bool in_row) {
  plan::Plan plan;
  plan.training = problem.training;
  std::vector<int> replicas;
  for (std::size_t s : stage_order(problem.graph, table, stages)) {
    plan::Stage stage;
    stage.operators = table.operators(stages[s].set);
    stage.micro_batch = table.choices().micro_batches[static_cast<std::size_t>(stages[s].config)];
    stage.k = table.choices().k;
    if (in_row && !plan.stages.empty()) stage.after = {StageId(plan.stages.size() - 1)};
    replicas.push_back(stages[s].replicas);
    plan.stages.push_back(std::move(stage));
  }
  place(plan, replicas);
  schedule::derive_in_flight(plan, plan::StageGraph(problem.graph, plan), table.choices().in_flight);
  return plan;
}

}  // namespace penstock::planners
