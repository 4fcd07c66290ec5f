#pragma once
// The tasks of one training iteration and what waits for what. Private to the simulator.

#include <cstdint>
#include <vector>

#include "penstock/core/ids.hpp"
#include "penstock/core/units.hpp"
#include "penstock/trace/trace.hpp"

namespace penstock::sim {

using TaskId = std::int32_t;

struct Task {
  std::int64_t duration = 0;   ///< ps
  std::int64_t bytes = 0;      ///< moved; zero for compute
  TaskId target = -1;          ///< a transfer's receiving compute task
  std::int32_t route = -1;     ///< index into TaskGraph::routes; -1: occupies no link
  std::int32_t micro_batch = -1;
  std::int32_t stage = -1;
  std::int32_t device = -1;
  std::int32_t peer = -1;
  trace::TaskKind kind = trace::TaskKind::forward;
};

/// A directed acyclic graph in compressed rows, plus the links each transfer occupies.
struct TaskGraph {
  std::vector<Task> tasks;
  std::vector<std::uint32_t> successor_start;     ///< [task], one more than tasks
  std::vector<TaskId> successors;
  std::vector<std::int32_t> predecessor_count;    ///< [task]
  std::vector<std::vector<std::size_t>> routes;   ///< link indices
  std::size_t links = 0;
};

/// Collects edges, then freezes them into rows.
class EdgeList {
 public:
  void add(TaskId before, TaskId after) { edges_.push_back({before, after}); }
  /// Fills successor_start, successors and predecessor_count of `graph`.
  void freeze(TaskGraph& graph) const;

 private:
  struct Edge {
    TaskId before, after;
  };
  std::vector<Edge> edges_;
};

}  // namespace penstock::sim
