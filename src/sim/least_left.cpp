#include "least_left.hpp"

#include <algorithm>

namespace penstock::sim {
namespace {

/// Maximum rounding of a transfer's duration by the network's clock.
constexpr std::int64_t kRounding = 2;

template <class Visit>
void for_each_successor(const TaskGraph& graph, std::size_t t, const Visit& visit) {
  if (const TaskId next = graph.tasks[t].next; next >= 0) visit(static_cast<std::size_t>(next));
  for (auto s = graph.successor_start[t]; s < graph.successor_start[t + 1]; ++s)
    visit(static_cast<std::size_t>(graph.successors[s]));
}

/// Topological order (Kahn 1962); tasks that wait for each other are missing.
std::vector<TaskId> in_order(const TaskGraph& graph) {
  std::vector<std::int32_t> waiting = graph.predecessor_count;
  std::vector<TaskId> out;
  out.reserve(waiting.size());
  for (std::size_t t = 0; t < waiting.size(); ++t)
    if (waiting[t] == 0) out.push_back(static_cast<TaskId>(t));
  for (std::size_t i = 0; i < out.size(); ++i)
    for_each_successor(graph, static_cast<std::size_t>(out[i]), [&](std::size_t next) {
      if (--waiting[next] == 0) out.push_back(static_cast<TaskId>(next));
    });
  return out;
}

}  // namespace

std::vector<std::int64_t> least_left(const TaskGraph& graph) {
  if (!graph.speed.empty() || !graph.stretch.empty() || !graph.changes.empty()) return {};
  const auto order = in_order(graph);
  if (order.size() < graph.tasks.size()) return {};
  std::vector<std::int64_t> out(order.size());
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto t = static_cast<std::size_t>(order[i]);
    const Task task = graph.tasks[t];
    std::int64_t behind = 0;
    for_each_successor(graph, t, [&](std::size_t next) { behind = std::max(behind, out[next]); });
    out[t] = behind + (task.travels() ? std::max<std::int64_t>(0, task.duration - kRounding) : task.duration);
  }
  return out;
}

}  // namespace penstock::sim
