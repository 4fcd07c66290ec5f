#pragma once
// A collective as transfer tasks, one per message.

#include <span>
#include <vector>

#include "penstock/collective/catalogue.hpp"
#include "penstock/sim/options.hpp"
#include "tasks/task_list.hpp"

namespace penstock::sim {

/// [member of a group] tasks that must have ended.
using Ready = std::vector<std::vector<TaskId>>;

class GroupMessages {
 public:
  GroupMessages(const cluster::Cluster& cluster, const SimulationOptions& options, TaskList& tasks)
      : cluster_(cluster), options_(options), tasks_(tasks) {}

  /// Messages of an all-reduce with the algorithm of the options. With closed form, the cheapest algorithm; a
  /// ring if the algorithm does not suit the group.
  std::vector<collective::Message> all_reduce(std::span<const core::DeviceId> group,
                                              std::int64_t bytes) const;
  /// Messages of an all-gather of `bytes` in all.
  std::vector<collective::Message> all_gather(std::span<const core::DeviceId> group,
                                              std::int64_t bytes) const;

  /// Adds a task for each message, labelled like `like`. Both ends take part only after their `ready` tasks
  /// have ended. Returns the tasks after which each member has the result. Throws Error(limit) if all
  /// collectives together have more than 2^24 messages.
  Ready add(const Task& like, const std::vector<collective::Message>& messages,
            std::span<const core::DeviceId> group, const Ready& ready);

 private:
  const cluster::Cluster& cluster_;
  const SimulationOptions& options_;
  TaskList& tasks_;
  std::size_t messages_ = 0;  ///< number so far
};

}  // namespace penstock::sim
