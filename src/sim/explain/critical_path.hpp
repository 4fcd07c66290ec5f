#pragma once
// The critical path: the tasks that determine an iteration's length.

#include "agenda.hpp"
#include "penstock/sim/explain.hpp"

namespace penstock::sim {

struct PathStep {
  TaskId task;
  StartCause cause;  ///< reason for its start, relative to the step before
};

/// From a task that starts at zero to the last to end; each starts when the one before it ends. Rules for
/// ties and links: see explain().
std::vector<PathStep> critical_path(const TaskGraph& graph, const TaskTimes& times);

/// Transfers by the links they use, for queries at a given time.
class LinkUse {
 public:
  LinkUse(const TaskGraph& graph, const TaskTimes& times);

  /// Transfer that held a link of `waiting`'s route until it started; -1: none.
  TaskId holder(TaskId waiting) const;
  /// Link of the route that carried most, relative to its capacity, while the transfer's bytes were on their
  /// way. Among equally full links the narrowest, then the first.
  std::uint32_t fullest(TaskId transfer) const;

 private:
  struct LinkOccupancy {
    std::int64_t start, end;
    std::int64_t latest;  ///< maximum end of this and all earlier uses
    TaskId task;
  };
  double load(std::uint32_t link, std::int64_t start, std::int64_t end) const;

  const TaskGraph& graph_;
  const TaskTimes& times_;
  std::vector<std::vector<LinkOccupancy>> by_start_;  ///< [link]
};

}  // namespace penstock::sim
