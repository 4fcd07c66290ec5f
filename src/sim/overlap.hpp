#pragma once
// What it costs a device to compute while it communicates, or while its neighbours compute.

#include "agenda.hpp"

namespace penstock::sim {

/// A device computes slower by its factor (TaskGraph::overlap) while it sends, receives or reduces: copies
/// and reductions take memory bandwidth and multiprocessors from kernels (Rashidi et al., ACE, ISCA 2021,
/// section III; Proteus, 2023, calibrates one factor as we do). Transfers count from the start of their
/// latency. Differs from those in that communication is not slowed in turn. It also computes slower while
/// others of its node compute, by what all of them use there (TaskGraph::crowd, cost::expected_slowdown); the
/// two factors multiply. Work that is under way when the pace changes keeps what it has done.
class Overlap {
 public:
  /// The references outlive it.
  Overlap(const TaskGraph& graph, Agenda& agenda);
  bool matters() const { return !devices_.empty(); }
  /// Whether it wants to hear of communication.
  bool listens() const { return !graph_.overlap.empty(); }

  /// A pass or step starts; its end is put on the agenda.
  void compute(TaskId task, std::int64_t now);
  /// An event of a pass or step is due; true when it has ended, false when its end has moved.
  bool due(TaskId task, std::int64_t now);
  /// A transfer or reduction starts (1) or ends (-1).
  void communicate(TaskId task, std::int64_t now, int change);

 private:
  struct Device {
    TaskId running = -1;
    double left = 0;  ///< work, in ps of the task's duration, at `since`
    std::int64_t since = 0;
    double factor = 1;  ///< on the time of work since then
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
  Agenda& agenda_;
  std::vector<Device> devices_;
  mutable std::vector<cost::Uses> beside_;  ///< of crowding(), which is called often
};

}  // namespace penstock::sim
