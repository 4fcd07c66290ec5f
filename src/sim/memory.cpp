#include "memory.hpp"

#include <algorithm>
#include <limits>

namespace penstock::sim {
namespace {

using plan::MemoryKind;

struct Change {
  std::int64_t time;
  std::int64_t activations;
  std::int64_t buffers;
};

/// Start of the first message each compute task waits for; its own start when there is none.
std::vector<std::int64_t> first_arrivals(const TaskGraph& graph, const Times& times) {
  std::vector<std::int64_t> first = times.start;
  for (std::size_t t = 0; t < graph.tasks.size(); ++t)
    if (graph.tasks[t].kind == trace::TaskKind::transfer) {
      std::int64_t& arrival = first[static_cast<std::size_t>(graph.tasks[t].next)];
      arrival = std::min(arrival, times.start[t]);
    }
  return first;
}

/// Sums changes of one moment into one point.
std::vector<trace::MemoryPoint> accumulate(std::vector<Change> changes) {
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
  std::vector<trace::MemoryPoint> points(1);
  for (const Change& change : changes) {
    if (points.back().time.value() != change.time) {
      points.push_back(points.back());
      points.back().time = core::Picoseconds(change.time);
    }
    points.back().activations += core::Bytes(change.activations);
    points.back().buffers += core::Bytes(change.buffers);
  }
  return points;
}

std::vector<Change> replica_changes(const cost::StageLoad& load, const cost::MemoryRule& rule, const StageTasks& stage,
                                    std::int32_t replica, const Times& times,
                                    const std::vector<std::int64_t>& arrival) {
  const std::int64_t samples = stage.share(replica);
  const std::int64_t held = (load.kept + load.entering).value() * rule.activation_copies * samples;
  const std::int64_t received = load.entering.value() * samples, gradients = load.leaving.value() * samples;
  std::vector<Change> changes;
  for (std::size_t m = 0; m < stage.forward_position.size(); ++m) {
    const auto f = static_cast<std::size_t>(stage.forward(static_cast<std::int64_t>(m), replica));
    const auto b = static_cast<std::size_t>(stage.backward(static_cast<std::int64_t>(m), replica));
    changes.push_back({times.start[f], held, 0});
    changes.push_back({times.end[b], -held, 0});
    if (!rule.transient) continue;
    changes.push_back({arrival[f], 0, received});
    changes.push_back({times.start[f], 0, -received});
    changes.push_back({arrival[b], 0, gradients});
    changes.push_back({times.end[b], 0, -gradients});
  }
  return changes;
}

plan::MemoryByKind fixed_memory(const cost::Problem& problem, const cost::StageLoad& load, std::int64_t samples) {
  auto memory = cost::stage_memory(load, problem.memory, problem.training.optimizer, samples, 0);
  at(memory, MemoryKind::buffers) = core::Bytes(0);  // counted as they come and go
  return memory;
}

}  // namespace

std::vector<trace::DeviceTrace> device_memory(const cost::Problem& problem, const plan::Plan& plan,
                                              const Iteration& iteration, const Times& times) {
  std::vector<trace::DeviceTrace> devices(problem.cluster.size());
  const auto arrival = first_arrivals(iteration.graph, times);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const cost::StageLoad load = cost::stage_load(problem.graph, plan.stages[s].operators);
    const StageTasks& tasks = iteration.stages[s];
    for (std::int32_t r = 0; r < tasks.replicas; ++r) {
      const core::DeviceId id = plan.stages[s].devices[static_cast<std::size_t>(r)];
      trace::DeviceTrace& device = devices[id.index()];
      device.stage = core::StageId(s);
      device.capacity = problem.cluster.type(id).memory;
      device.fixed = fixed_memory(problem, load, tasks.share(r));
      device.memory = accumulate(replica_changes(load, problem.memory, tasks, r, times, arrival));
    }
  }
  return devices;
}

}  // namespace penstock::sim
