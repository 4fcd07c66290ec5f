#pragma once
// A task graph while it is being made.

#include <map>
#include <utility>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/stop.hpp"
#include "tasks/task_graph.hpp"

namespace penstock::sim {

class TaskList {
 public:
  /// Knows the cluster's links; it must outlive the list. Asks `stop` every few thousand tasks.
  explicit TaskList(const cluster::Cluster& cluster, core::StopToken stop = {});

  /// Picoseconds of one task. No iteration outlasts the sum of its tasks, so the clock holds when the sum
  /// does; throws BadInput when it does not.
  std::int64_t ticks(core::Seconds time);
  /// A message between two devices, not added yet.
  Task transfer(core::DeviceId from, core::DeviceId to, std::int64_t bytes);
  TaskId add(const Task& task);  ///< throws a limit error after 2^31 - 1 tasks
  void edge(TaskId before, TaskId after) { edges_.add(before, after); }

  void reserve(std::size_t tasks) { graph_.tasks.reserve(tasks); }
  std::size_t size() const { return graph_.tasks.size(); }
  TaskGraph& graph() { return graph_; }
  TaskGraph freeze();  ///< ends the list

 private:
  struct Way {
    std::int32_t path;
    core::Seconds latency;
    core::Bandwidth bandwidth;
  };
  const Way& way(core::DeviceId from, core::DeviceId to);

  const cluster::Cluster& cluster_;
  core::StopToken stop_;
  TaskGraph graph_;
  EdgeList edges_;
  core::Seconds total_;  ///< of all tasks so far
  std::map<std::pair<core::DeviceId, core::DeviceId>, Way> ways_;
};

}  // namespace penstock::sim
