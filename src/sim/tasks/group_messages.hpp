#pragma once
// A collective as tasks that travel, one per message.

#include <span>
#include <vector>

#include "penstock/collective/catalogue.hpp"
#include "penstock/sim/options.hpp"
#include "tasks/task_list.hpp"

namespace penstock::sim {

/// By member of a group: the tasks that must have ended.
using Ready = std::vector<std::vector<TaskId>>;

class GroupMessages {
 public:
  GroupMessages(const cluster::Cluster& cluster, const SimulationOptions& options, TaskList& tasks)
      : cluster_(cluster), options_(options), tasks_(tasks) {}

  /// An all-reduce as the options say, by the cheapest algorithm where they say closed form; a ring where
  /// that does not fit the group.
  std::vector<collective::Message> all_reduce(std::span<const core::DeviceId> group,
                                              std::int64_t bytes) const;

  /// Adds a task for each message, which shows what `like` does. Both ends take part only when what they
  /// wait for has ended (`ready`). Returns what each member has the result of. Throws Error(limit) where all
  /// collectives together have more than 2^24 messages.
  Ready add(const Task& like, const std::vector<collective::Message>& messages,
            std::span<const core::DeviceId> group, const Ready& ready);

 private:
  const cluster::Cluster& cluster_;
  const SimulationOptions& options_;
  TaskList& tasks_;
  std::size_t messages_ = 0;  ///< so far
};

}  // namespace penstock::sim
