#pragma once
// Slow-down of a device that computes while it communicates, or while its neighbours compute.

#include "agenda.hpp"

namespace penstock::sim {

/// A device computes slower by its factor (TaskGraph::overlap) while it sends, receives or reduces: copies
/// and reductions take memory bandwidth and multiprocessors from kernels (Rashidi et al., ACE, ISCA 2021,
/// section III; Proteus, 2023, calibrates one factor as we do). Transfers count from the start of their
/// latency. Differs: communication is not slowed in turn. It also computes slower while others of its node
/// compute, depending on the resources they use (TaskGraph::crowd, cost::expected_slowdown); both factors
/// multiply. Work under way when the factor changes keeps its progress.
class OverlapSlowdown {
 public:
  /// The references outlive it.
  OverlapSlowdown(const TaskGraph& graph, EventAgenda& agenda);
  bool matters() const { return !devices_.empty(); }
  /// True if communicate() must be called.
  bool listens() const { return !graph_.overlap.empty(); }

  /// A pass or step starts; posts its end.
  void compute(TaskId task, std::int64_t now);
  /// An event of a pass or step is due; returns true if it has ended, false if its end has moved.
  bool due(TaskId task, std::int64_t now);
  /// A transfer or reduction starts (1) or ends (-1).
  void communicate(TaskId task, std::int64_t now, int change);

 private:
  struct DeviceState {
    TaskId running = -1;
    double left = 0;  ///< work in ps of the task's duration, at `since`
    std::int64_t since = 0;
    double factor = 1;  ///< factor on the time of work since then
    std::int64_t end = 0;
    int communicating = 0;
  };
  void change(std::size_t device, std::int64_t now, int by);
  void change_neighbours(std::size_t device, std::int64_t now);
  void change_pace(std::size_t device, std::int64_t now);
  void post_end(std::size_t device, std::int64_t now);
  double factor(std::size_t device) const;
  double crowding(std::size_t device) const;

  const TaskGraph& graph_;
  EventAgenda& agenda_;
  std::vector<DeviceState> devices_;
  mutable std::vector<cost::UseShares> beside_;  ///< buffer of crowding(), which is called often
};

}  // namespace penstock::sim
