#include "updates.hpp"

#include <algorithm>
#include <map>

#include "collective.hpp"
#include "penstock/cost/communication.hpp"

namespace penstock::sim {
namespace {

using trace::TaskKind;

class UpdateBuilder {
 public:
  UpdateBuilder(const cost::Problem& problem, const SimulationOptions& options, const BuiltRows& built, TaskList& tasks)
      : problem_(problem), options_(options), built_(built), tasks_(tasks) {}

  void add() {
    for (std::size_t r = 0; r < built_.rows.size(); ++r) add_reductions(r);
    add_barriers();
  }

 private:
  std::int64_t replicas(std::size_t rank) const { return static_cast<std::int64_t>(built_.devices[rank].size()); }
  TaskId at(std::size_t rank, std::int32_t position, std::int64_t replica) const {
    return built_.first[rank] + static_cast<TaskId>(position * replicas(rank) + replica);
  }

  void add_reductions(std::size_t r) {
    std::vector<std::vector<TaskId>> before(built_.devices[r].size());  // [replica] what the stream ran last
    for (const Reduction& reduction : built_.rows[r].reductions) {
      std::vector<std::vector<TaskId>> ready = before;
      for (std::int64_t a = 0; a < replicas(r); ++a) ready[static_cast<std::size_t>(a)].push_back(at(r, reduction.after, a));
      before = options_.collective == Collective::closed_form ? reduce_at_once(r, reduction, ready)
                                                              : reduce_by_messages(r, reduction, ready);
      for (std::size_t a = 0; reduction.step >= 0 && a < before.size(); ++a)
        for (const TaskId last : before[a]) tasks_.edge(last, at(r, reduction.step, static_cast<std::int64_t>(a)));
    }
  }

  std::int64_t gradients(const Reduction& reduction) const {
    return built_.buckets[static_cast<std::size_t>(reduction.stage)][static_cast<std::size_t>(reduction.bucket)].gradients.value();
  }

  std::vector<std::vector<TaskId>> reduce_at_once(std::size_t r, const Reduction& reduction,
                                                  const std::vector<std::vector<TaskId>>& ready) {
    Task task;
    task.bytes = gradients(reduction);
    task.duration = tasks_.ticks(cost::all_reduce(problem_.cluster, built_.devices[r]).time(core::Bytes(task.bytes)));
    task.stage = reduction.stage;
    task.kind = TaskKind::all_reduce;
    const TaskId id = tasks_.add(task);
    std::vector<TaskId> before;
    for (const auto& tasks : ready) before.insert(before.end(), tasks.begin(), tasks.end());
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const TaskId b : before) tasks_.edge(b, id);
    return std::vector<std::vector<TaskId>>(ready.size(), {id});
  }

  std::vector<std::vector<TaskId>> reduce_by_messages(std::size_t r, const Reduction& reduction,
                                                      const std::vector<std::vector<TaskId>>& ready) {
    const auto& group = built_.devices[r];
    const auto messages = all_reduce_messages(options_.collective, problem_.cluster, group, gradients(reduction));
    const auto first = static_cast<TaskId>(tasks_.size());
    std::vector<std::map<std::size_t, TaskId>> last(group.size());  // [replica] of each sender
    for (const Message& message : messages) {
      Task task = tasks_.transfer(static_cast<std::int32_t>(group[message.from].index()),
                             static_cast<std::int32_t>(group[message.to].index()), message.bytes);
      task.stage = reduction.stage;
      task.kind = TaskKind::all_reduce;
      const TaskId id = tasks_.add(task);
      for (const std::size_t m : message.after) tasks_.edge(first + static_cast<TaskId>(m), id);
      // Both take part only when their own gradients are there; one that this message builds on has waited for that.
      for (const std::size_t side : {message.from, message.to})
        if (std::none_of(message.after.begin(), message.after.end(), [&](auto m) { return messages[m].to == side; }))
          for (const TaskId task_before : ready[side]) tasks_.edge(task_before, id);
      last[message.to][message.from] = id;
    }
    std::vector<std::vector<TaskId>> done(group.size());
    for (std::size_t a = 0; a < group.size(); ++a)
      for (const auto& [sender, id] : last[a]) done[a].push_back(id);
    return done;
  }

  /// Through a task of no length.
  void add_barriers() {
    std::size_t count = 0;
    for (const RankRow& row : built_.rows) count = std::max(count, row.barriers.size());
    for (std::size_t k = 0; k < count; ++k) {
      Task task;
      task.duration = 0;
      task.kind = TaskKind::all_reduce;
      task.stage = 0;
      const TaskId id = tasks_.add(task);
      for (std::size_t r = 0; r < built_.rows.size(); ++r) {
        if (k >= built_.rows[r].barriers.size()) continue;
        const std::int32_t position = built_.rows[r].barriers[k];
        for (std::int64_t a = 0; a < replicas(r); ++a) {
          if (position > 0) tasks_.edge(at(r, position - 1, a), id);
          if (position < static_cast<std::int32_t>(built_.rows[r].tasks.size())) tasks_.edge(id, at(r, position, a));
        }
      }
    }
  }

  const cost::Problem& problem_;
  const SimulationOptions& options_;
  const BuiltRows& built_;
  TaskList& tasks_;
};

}  // namespace

void add_updates(const cost::Problem& problem, const SimulationOptions& options, const BuiltRows& built, TaskList& tasks) {
  UpdateBuilder(problem, options, built, tasks).add();
}

}  // namespace penstock::sim
