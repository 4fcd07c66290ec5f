#include "tasks/task_graph.hpp"

#include <algorithm>

namespace penstock::sim {

void EdgeList::freeze(TaskGraph& graph) const {
  const std::size_t count = graph.tasks.size();
  graph.successor_start.assign(count + 1, 0);
  graph.predecessor_count.assign(count, 0);
  for (std::size_t t = 0; t < count; ++t)
    if (const TaskId next = graph.tasks[t].next; next >= 0)
      ++graph.predecessor_count[static_cast<std::size_t>(next)];
  for (const TaskEdge& e : edges_) {
    ++graph.successor_start[static_cast<std::size_t>(e.before)];
    ++graph.predecessor_count[static_cast<std::size_t>(e.after)];
  }
  // These are ends of rows now; they become starts once filled from the last edge to the first.
  for (std::size_t t = 0; t < count; ++t) graph.successor_start[t + 1] += graph.successor_start[t];
  graph.successors.resize(edges_.size());
  for (auto e = edges_.rbegin(); e != edges_.rend(); ++e)
    graph.successors[--graph.successor_start[static_cast<std::size_t>(e->before)]] = e->after;
}

void TaskGraph::forget_edges() {
  std::vector<std::uint32_t>().swap(successor_start);
  std::vector<TaskId>().swap(successors);
  std::vector<std::int32_t>().swap(predecessor_count);
}

Task pause(core::StageId stage) {
  Task task;
  task.kind = trace::TaskKind::all_reduce;
  task.stage = stage;
  return task;
}

SpeedProfile path_speed(const TaskGraph& graph, const TransferPath& path) {
  SpeedProfile out;
  std::vector<double> capacity;
  for (const std::uint32_t l : path.links) capacity.push_back(graph.capacity[l]);
  const double whole = *std::min_element(capacity.begin(), capacity.end());
  for (const CapacityChange& change : graph.changes) {
    const auto link = std::find(path.links.begin(), path.links.end(), change.link);
    if (link == path.links.end()) continue;
    capacity[static_cast<std::size_t>(link - path.links.begin())] = change.capacity;
    out.change(change.time, *std::min_element(capacity.begin(), capacity.end()) / whole);
  }
  return out;
}

}  // namespace penstock::sim
