#include "tasks/updates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "penstock/collective/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/shared_reduction.hpp"

namespace penstock::sim {
namespace {

using trace::TaskKind;

class UpdateBuilder {
 public:
  UpdateBuilder(const cost::Problem& problem, const plan::Plan& plan, const SimulationOptions& options,
                const BuiltRows& built, TaskList& tasks)
      : problem_(problem),
        plan_(plan),
        options_(options),
        built_(built),
        tasks_(tasks),
        shared_(plan::shared_parameters(problem.graph, plan)) {}

  void add() {
    for (std::size_t r = 0; r < built_.rows.size(); ++r) add_reductions(r);
    for (std::size_t k = 0; k < shared_.size() && !plan::asynchronous(plan_); ++k) add_shared(k);
    add_barriers();
  }

 private:
  /// By device of a rank: what must have ended.
  using Ready = std::vector<std::vector<TaskId>>;

  std::int64_t devices(std::size_t rank) const {
    return static_cast<std::int64_t>(built_.devices[rank].size());
  }
  TaskId at(std::size_t rank, std::int32_t position, std::int64_t device) const {
    return built_.first[rank] + static_cast<TaskId>(position * devices(rank) + device);
  }

  void add_reductions(std::size_t r) {
    Ready& before = streams_.emplace_back(built_.devices[r].size());
    std::map<std::int32_t, std::vector<std::vector<cost::Reduction>>> of_stage;  // by bucket
    for (const Reduction& row : built_.rows[r].reductions) {
      const auto [buckets, fresh] = of_stage.try_emplace(row.stage);
      if (fresh) buckets->second = reductions(static_cast<std::size_t>(row.stage));
      Ready ready = before;
      for (std::int64_t d = 0; d < devices(r); ++d)
        ready[static_cast<std::size_t>(d)].push_back(at(r, row.after, d));
      for (const cost::Reduction& reduction : buckets->second[static_cast<std::size_t>(row.bucket)]) {
        before = options_.collective == Collective::closed_form
                     ? reduce_at_once(row, reduction, ready)
                     : reduce_by_messages(built_.devices[r], row, reduction, ready);
        ready = before;
      }
      for (std::size_t d = 0; row.step >= 0 && d < before.size(); ++d)
        for (const TaskId last : before[d]) tasks_.edge(last, at(r, row.step, static_cast<std::int64_t>(d)));
    }
  }

  /// By bucket.
  std::vector<std::vector<cost::Reduction>> reductions(std::size_t stage) const {
    cost::OperatorSets sets;
    for (const cost::Bucket& bucket : built_.buckets[stage])
      sets.push_back(plan::unshared(bucket.operators, shared_));
    return cost::reductions(problem_, plan_.stages[stage], sets);
  }

  // Among stages.

  std::size_t rank_of(core::StageId stage) const {
    const auto& devices = plan_.stages[stage.index()].devices;
    return static_cast<std::size_t>(std::find(built_.devices.begin(), built_.devices.end(), devices) -
                                    built_.devices.begin());
  }
  /// Position of the stage's last such pass in its row; -1: there is none.
  std::int32_t last_of(core::StageId stage, std::initializer_list<schedule::ActionKind> passes) const {
    const auto& tasks = built_.rows[rank_of(stage)].tasks;
    for (auto p = static_cast<std::int32_t>(tasks.size()); p-- > 0;) {
      const RowTask& task = tasks[static_cast<std::size_t>(p)];
      if (task.stage == static_cast<std::int32_t>(stage.index()) &&
          std::find(passes.begin(), passes.end(), task.kind) != passes.end())
        return p;
    }
    return -1;
  }

  /// Of one device there is nothing to tell anybody.
  void add_shared(std::size_t k) {
    using schedule::ActionKind;
    const auto devices = plan::devices(shared_[k], plan_);
    if (devices.size() < 2) return;
    Ready ready;
    std::map<std::size_t, std::size_t> first;  // [rank] of its devices among all
    for (const core::StageId stage : shared_[k].stages) {
      const std::size_t r = rank_of(stage);
      if (first.emplace(r, ready.size()).second)
        ready.insert(ready.end(), streams_[r].begin(), streams_[r].end());
      const std::int32_t computed = last_of(stage, {ActionKind::backward, ActionKind::weight_gradient});
      core::require(computed >= 0, "every stage has backward passes");
      for (std::size_t d = 0; d < streams_[r].size(); ++d)
        ready[first[r] + d].push_back(at(r, computed, static_cast<std::int64_t>(d)));
    }
    const Reduction row{static_cast<std::int32_t>(plan::home(shared_[k], plan_).index()), -1, 0, -1,
                        static_cast<std::int32_t>(k)};
    const cost::Reduction reduction = cost::shared_reduction(problem_, plan_, shared_[k]);
    const Ready done = options_.collective == Collective::closed_form
                           ? reduce_at_once(row, reduction, ready)
                           : reduce_by_messages(devices, row, reduction, ready);
    for (const auto& [r, start] : first)
      std::copy_n(done.begin() + static_cast<std::ptrdiff_t>(start), streams_[r].size(), streams_[r].begin());
    for (const core::StageId stage : shared_[k].stages) await(stage);
  }

  /// The stage's update waits for what its rank's stream ran last.
  void await(core::StageId stage) {
    const std::size_t r = rank_of(stage);
    const std::int32_t step = last_of(stage, {schedule::ActionKind::step});
    for (std::size_t d = 0; step >= 0 && d < streams_[r].size(); ++d)
      for (const TaskId last : streams_[r][d]) tasks_.edge(last, at(r, step, static_cast<std::int64_t>(d)));
  }

  Ready reduce_at_once(const Reduction& row, const cost::Reduction& reduction, const Ready& ready) {
    Task task;
    task.bytes = reduction.bytes.value();
    task.duration = tasks_.ticks(reduction_times_.time(reduction));
    task.stage = row.stage;
    task.kind = TaskKind::all_reduce;
    task.micro_batch = row.shared;
    const TaskId id = tasks_.add(task);
    std::vector<TaskId> before;
    for (const auto& tasks : ready) before.insert(before.end(), tasks.begin(), tasks.end());
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const TaskId b : before) tasks_.edge(b, id);
    return Ready(ready.size(), {id});
  }

  /// `ready` and what is returned: by device of `devices`.
  Ready reduce_by_messages(const std::vector<core::DeviceId>& devices, const Reduction& row,
                           const cost::Reduction& reduction, const Ready& ready) {
    Ready done(ready.size());
    for (const auto& group : reduction.groups) {
      std::vector<std::size_t> members;
      for (const core::DeviceId device : group)
        members.push_back(
            static_cast<std::size_t>(std::find(devices.begin(), devices.end(), device) - devices.begin()));
      reduce_group(row, reduction, group, members, ready, done);
    }
    return done;
  }

  /// As the options say; a ring where that does not fit the group.
  const collective::Algorithm& algorithm(const std::vector<core::DeviceId>& group, core::Bytes bytes) const {
    if (options_.collective == Collective::automatic)
      return collective::cheapest(problem_.cluster, group, bytes);
    const collective::Algorithm& asked = collective::algorithm(name(options_.collective));
    return asked.fits(problem_.cluster, group) ? asked : collective::algorithm("ring");
  }

  void reduce_group(const Reduction& row, const cost::Reduction& reduction,
                    const std::vector<core::DeviceId>& group, const std::vector<std::size_t>& members,
                    const Ready& ready, Ready& done) {
    const std::int64_t bytes = reduction.bytes.value();
    const auto messages = reduction.all_gather
                              ? collective::all_gather(group.size(), bytes)
                              : algorithm(group, reduction.bytes).messages(problem_.cluster, group, bytes);
    constexpr std::size_t kMostMessages = std::size_t{1} << 24;
    if ((messages_ += messages.size()) > kMostMessages)
      throw core::Error(
          core::ExitCode::limit,
          fmt::format("gradients are reduced by more than {} messages: buckets may be larger, or "
                      "collectives of closed form",
                      kMostMessages));
    const auto first = static_cast<TaskId>(tasks_.size());
    std::vector<std::map<std::size_t, TaskId>> last(group.size());  // [member] of each sender
    for (const collective::Message& message : messages) {
      Task task = tasks_.transfer(static_cast<std::int32_t>(group[message.from].index()),
                                  static_cast<std::int32_t>(group[message.to].index()), message.bytes);
      task.stage = row.stage;
      task.kind = TaskKind::all_reduce;
      task.micro_batch = row.shared;
      const TaskId id = tasks_.add(task);
      for (const std::size_t m : message.after) tasks_.edge(first + static_cast<TaskId>(m), id);
      // Both take part only when their own gradients are there; one that this message builds on has waited
      // for that.
      for (const std::size_t side : {message.from, message.to})
        if (std::none_of(message.after.begin(), message.after.end(),
                         [&](auto m) { return messages[m].to == side; }))
          for (const TaskId task_before : ready[members[side]]) tasks_.edge(task_before, id);
      last[message.to][message.from] = id;
    }
    for (std::size_t a = 0; a < group.size(); ++a)
      for (const auto& [sender, id] : last[a]) done[members[a]].push_back(id);
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
        for (std::int64_t a = 0; a < devices(r); ++a) {
          if (position > 0) tasks_.edge(at(r, position - 1, a), id);
          if (position < static_cast<std::int32_t>(built_.rows[r].tasks.size()))
            tasks_.edge(id, at(r, position, a));
        }
      }
    }
  }

  const cost::Problem& problem_;
  const plan::Plan& plan_;
  const SimulationOptions& options_;
  const BuiltRows& built_;
  TaskList& tasks_;
  const std::vector<plan::SharedParameters> shared_;
  cost::ReductionTimes reduction_times_{problem_.cluster};
  std::size_t messages_ = 0;
  std::vector<Ready> streams_;  ///< [rank] what its reduce stream ran last
};

}  // namespace

void add_updates(const cost::Problem& problem, const plan::Plan& plan, const SimulationOptions& options,
                 const BuiltRows& built, TaskList& tasks) {
  UpdateBuilder(problem, plan, options, built, tasks).add();
}

}  // namespace penstock::sim
