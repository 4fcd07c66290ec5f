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
  std::int64_t duration = 0;  ///< ps; of a transfer: when nothing else uses its route
  std::int64_t bytes = 0;     ///< moved; zero for compute
  TaskId next = -1;           ///< released first: the device's next pass, or a transfer's receiver
  std::int32_t place = -1;    ///< device of what computes, route of what travels; of a closed-form all-reduce -1
  std::int32_t micro_batch = -1;
  trace::TaskKind kind = trace::TaskKind::forward;
  std::int32_t stage = -1;  ///< computing, sending or reducing

  /// Over the links, handled by the network.
  bool travels() const { return !trace::computes(kind) && place >= 0; }
};
static_assert(sizeof(Task) == 40, "a million tasks should stay small");

/// The way of the transfers between two devices.
struct Path {
  std::int32_t from = -1;  ///< device
  std::int32_t to = -1;    ///< device
  std::vector<std::uint32_t> links;
  std::int64_t latency = 0;  ///< ps
};

/// A directed acyclic graph: one successor in the task itself, the others in compressed rows.
struct TaskGraph {
  std::vector<Task> tasks;
  std::vector<std::uint32_t> successor_start;   ///< [task], one more than tasks
  std::vector<TaskId> successors;               ///< beyond Task::next
  std::vector<std::int32_t> predecessor_count;  ///< [task]
  std::vector<Path> paths;
  std::vector<double> capacity;  ///< [link], bytes per ps

  const Task& task(TaskId id) const { return tasks[static_cast<std::size_t>(id)]; }
  const Path& path(TaskId transfer) const { return paths[static_cast<std::size_t>(task(transfer).place)]; }
};

/// Collects edges other than Task::next, then freezes both into rows.
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
