#pragma once
// A task graph under construction.

#include <map>
#include <utility>

#include "penstock/cluster/cluster.hpp"
#include "penstock/core/stop.hpp"
#include "tasks/task_graph.hpp"

namespace penstock::sim {

class TaskList {
 public:
  /// Uses the cluster's links; the cluster must outlive the list. Checks `stop` every few thousand tasks.
  explicit TaskList(const cluster::Cluster& cluster, core::StopToken stop = {});

  /// Duration of one task in picoseconds. No iteration is longer than the sum of its tasks; throws BadInput
  /// if that sum exceeds the clock.
  std::int64_t ticks(core::Seconds time);
  /// Returns the message between two devices, without adding it.
  Task transfer(core::DeviceId from, core::DeviceId to, std::int64_t bytes);
  TaskId add(const Task& task);  ///< throws a limit error after 2^31 - 1 tasks
  void edge(TaskId before, TaskId after) { edges_.add(before, after); }

  void reserve(std::size_t tasks) { graph_.tasks.reserve(tasks); }
  std::size_t size() const { return graph_.tasks.size(); }
  TaskGraph& graph() { return graph_; }
  TaskGraph freeze();  ///< ends the construction

 private:
  struct PathRates {
    std::int32_t path;
    core::Seconds latency;
    core::Bandwidth bandwidth;
  };
  const PathRates& way(core::DeviceId from, core::DeviceId to);

  const cluster::Cluster& cluster_;
  core::StopToken stop_;
  TaskGraph graph_;
  EdgeList edges_;
  core::Seconds total_;  ///< sum of all tasks so far
  std::map<std::pair<core::DeviceId, core::DeviceId>, PathRates> ways_;
};

}  // namespace penstock::sim
