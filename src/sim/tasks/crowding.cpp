#include "tasks/crowding.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/plan/mesh.hpp"

namespace penstock::sim {
namespace {

using trace::TaskKind;

/// [device] other devices of its node that work.
std::vector<std::vector<core::DeviceId>> neighbours(const cluster::Cluster& cluster, const TaskGraph& graph) {
  std::vector<bool> works(graph.devices);
  for (std::size_t t = 0; t < graph.tasks.size(); ++t)
    if (const Task task = graph.tasks[t]; trace::computes(task.kind)) works[task.device().index()] = true;
  std::vector<std::vector<core::DeviceId>> out(graph.devices);
  for (std::size_t a = 0; a < out.size(); ++a)
    for (std::size_t b = 0; b < out.size(); ++b)
      if (a != b && works[a] && works[b] &&
          cluster.node(core::DeviceId(a)) == cluster.node(core::DeviceId(b)))
        out[a].emplace_back(b);
  return out;
}

const cost::UseShares& uses_in(const cost::PassUses& passes, TaskKind kind) {
  if (kind == TaskKind::forward) return passes.forward;
  if (kind == TaskKind::recompute) return passes.recompute;
  if (kind == TaskKind::backward) return passes.backward;
  if (kind == TaskKind::input_gradient) return passes.input_gradient;
  return kind == TaskKind::weight_gradient ? passes.weight_gradient : cost::kUpdateUses;
}

/// [stage][device of the cluster] uses, for devices of the stage.
std::vector<std::vector<cost::PassUses>> stage_uses(const cost::Problem& problem, const plan::Plan& plan,
                                                    const std::vector<StageTasks>& tasks) {
  const cost::StageUses uses(problem);
  std::vector<std::vector<cost::PassUses>> out(plan.stages.size());
  for (std::size_t s = 0; s < out.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    out[s].resize(problem.cluster.size());
    for (std::int64_t r = 0; r < stage.replicas(); ++r) {
      const auto replica = static_cast<std::size_t>(r);
      const auto passes = uses.of(stage, replica, std::max<std::int64_t>(1, tasks[s].sharing.size(r)));
      for (const core::DeviceId device : plan::Mesh(stage).replica(replica)) out[s][device.index()] = passes;
    }
  }
  return out;
}

/// Maximum slow-down of any task beside this many neighbours.
double most_slowdown(const cost::CrowdingSlowdown& crowding, double count) {
  double most = 1;
  for (const double demand : {0.0, 1.0})
    for (double beside = 1; beside <= count; ++beside)
      for (const double others : {0.0, 1.0, beside})
        most = std::max(most, crowding.slowdown(demand, beside, others));
  return most;
}

void check_clock(const TaskGraph& graph) {
  constexpr double kClock = 9e18;  // ps, a little below 2^63
  std::size_t count = 0;
  for (const auto& neighbours : graph.crowd.neighbours) count = std::max(count, neighbours.size());
  double sum = 0;
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) sum += static_cast<double>(graph.tasks[t].duration);
  if (!(sum * most_slowdown(graph.crowd.slowdowns, static_cast<double>(count)) < kClock))
    throw core::BadInput("devices that slow each other down might outlast the simulator's clock");
}

}  // namespace

void add_crowding(const cost::Problem& problem, const plan::Plan& plan, IterationTasks& iteration) {
  const cost::CrowdingSlowdown* slowdowns = problem.costs.crowding();
  if (slowdowns == nullptr) return;
  TaskGraph& graph = iteration.graph;
  auto beside = neighbours(problem.cluster, graph);
  if (std::ranges::all_of(beside, [](const auto& others) { return others.empty(); })) return;
  const auto uses = stage_uses(problem, plan, iteration.stages);
  graph.crowd.uses.resize(graph.tasks.size());
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    const Task task = graph.tasks[t];
    if (trace::computes(task.kind))
      graph.crowd.uses[t] = uses_in(uses[task.stage.index()][task.device().index()], task.kind);
  }
  graph.crowd.slowdowns = *slowdowns;
  graph.crowd.neighbours = std::move(beside);
  check_clock(graph);
}

}  // namespace penstock::sim
