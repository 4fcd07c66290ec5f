#include "task_graph.hpp"

namespace penstock::sim {

void EdgeList::freeze(TaskGraph& graph) const {
  const std::size_t count = graph.tasks.size();
  graph.successor_start.assign(count + 1, 0);
  graph.predecessor_count.assign(count, 0);
  for (const Edge& e : edges_) {
    ++graph.successor_start[static_cast<std::size_t>(e.before) + 1];
    ++graph.predecessor_count[static_cast<std::size_t>(e.after)];
  }
  for (std::size_t t = 0; t < count; ++t) graph.successor_start[t + 1] += graph.successor_start[t];
  graph.successors.resize(edges_.size());
  std::vector<std::uint32_t> next(graph.successor_start.begin(), graph.successor_start.end() - 1);
  for (const Edge& e : edges_) graph.successors[next[static_cast<std::size_t>(e.before)]++] = e.after;
}

}  // namespace penstock::sim
