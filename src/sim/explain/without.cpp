#include "explain/without.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::sim {
namespace {

using trace::TaskKind;

double narrowest(const TaskGraph& graph, const TransferPath& path) {
  double least = graph.capacity[path.links.front()];
  for (const std::uint32_t link : path.links) least = std::min(least, graph.capacity[link]);
  return least;
}

/// Capacity large enough for everything at once within a picosecond, small enough to compute with.
constexpr double kUnlimited = 1e30;  // bytes per ps

void widen(TaskGraph& graph, std::uint32_t link) {
  const TaskGraph before = graph;
  graph.capacity[link] = kUnlimited;
  std::erase_if(graph.changes, [&](const CapacityChange& change) { return change.link == link; });
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    const Task task = graph.tasks[t];
    if (!task.travels()) continue;
    const TransferPath& path = graph.path(static_cast<TaskId>(t));
    if (std::find(path.links.begin(), path.links.end(), link) == path.links.end()) continue;
    const double bytes = static_cast<double>(task.duration - path.latency);
    graph.tasks.set_duration(
        t, path.latency + std::llround(bytes * narrowest(before, path) / narrowest(graph, path)));
  }
}

void drop_latency(TaskGraph& graph) {
  for (std::size_t t = 0; t < graph.tasks.size(); ++t)
    if (const Task task = graph.tasks[t]; task.travels())
      graph.tasks.set_duration(t, task.duration - graph.path(static_cast<TaskId>(t)).latency);
  for (TransferPath& path : graph.paths) path.latency = 0;
}

template <class Belongs>
void drop_time(TaskGraph& graph, const Belongs& belongs) {
  for (std::size_t t = 0; t < graph.tasks.size(); ++t)
    if (const Task task = graph.tasks[t]; !task.travels() && belongs(task)) graph.tasks.set_duration(t, 0);
}

}  // namespace

TaskGraph without(const TaskGraph& graph, const LimitingResource& resource) {
  TaskGraph out = graph;
  const core::StageId stage(resource.index);
  switch (resource.kind) {
    case LimitingResource::ResourceKind::stage:
      drop_time(out, [&](const Task& task) { return task.place >= 0 && task.stage == stage; });
      break;
    case LimitingResource::ResourceKind::link:
      widen(out, static_cast<std::uint32_t>(resource.index));
      break;
    case LimitingResource::ResourceKind::latency:
      drop_latency(out);
      break;
    case LimitingResource::ResourceKind::reduction:
      drop_time(out,
                [&](const Task& task) { return task.kind == TaskKind::all_reduce && task.stage == stage; });
      break;
  }
  return out;
}

}  // namespace penstock::sim
