#include "tasks/updates.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "penstock/core/error.hpp"
#include "penstock/cost/shared_reduction.hpp"
#include "penstock/plan/colocated.hpp"
#include "tasks/group_messages.hpp"

namespace penstock::sim {
namespace {

using core::StageId;
using trace::TaskKind;

class UpdateBuilder {
 public:
  UpdateBuilder(const cost::Problem& problem, const plan::Plan& plan, const SimulationOptions& options,
                const BuiltRows& built, TaskList& tasks)
      : problem_(problem), plan_(plan), options_(options), built_(built), tasks_(tasks) {}

  void add() {
    for (std::size_t r = 0; r < ranks(); ++r) streams_.emplace_back(built_.devices[r].size());
    for (const bool behind_pipeline : {true, false}) {
      for (std::size_t r = 0; r < ranks(); ++r) add_reductions(r, behind_pipeline);
      for (std::size_t k = 0; k < shared().size() && !plan::asynchronous(plan_); ++k)
        if (plan::summed_first(shared()[k], plan_) == behind_pipeline) add_shared(k);
    }
    add_barriers();
  }

 private:
  /// Label of the tasks of a reduction.
  struct ReductionLabel {
    StageId stage;
    std::int32_t shared = -1;  ///< for a reduction among stages: index of the shared parameters
  };

  std::size_t ranks() const { return built_.program.ranks.size(); }
  const program::Row& row(std::size_t rank) const { return built_.program.ranks[rank].row; }
  const std::vector<plan::SharedParameters>& shared() const { return built_.program.shared; }
  std::size_t rank_of(StageId stage) const { return built_.program.stages[stage.index()].rank; }
  /// Task that computes at the position, or before it.
  TaskId at(std::size_t rank, std::int32_t position, std::size_t device) const {
    return built_.tasks[rank].at[static_cast<std::size_t>(position)] + static_cast<TaskId>(device);
  }

  /// Adds the reductions of stages behind the pipeline, or of all others.
  void add_reductions(std::size_t r, bool behind_pipeline) {
    Ready& before = streams_[r];
    std::map<StageId, std::shared_ptr<const cost::TimedReductions>> of_stage;  // by bucket
    for (const program::GradientSum& sum : program::gradient_sums(built_.program.ranks[r])) {
      const program::Instruction& instruction = row(r)[static_cast<std::size_t>(sum.position)];
      if ((instruction.stage.index() >= behind_) != behind_pipeline) continue;
      const auto [buckets, fresh] = of_stage.try_emplace(instruction.stage);
      if (fresh) buckets->second = reductions(instruction.stage.index());
      Ready ready = before;
      for (std::size_t d = 0; d < ready.size(); ++d) ready[d].push_back(at(r, sum.position, d));
      const auto bucket = static_cast<std::size_t>(instruction.bucket);
      for (const cost::TimedReduction& reduction : (*buckets->second)[bucket]) {
        before = reduce(built_.devices[r], {instruction.stage}, reduction, ready);
        ready = before;
      }
      if (sum.step >= 0) await(r, sum.step);
    }
  }

  /// Makes the update wait for the last reduction of its rank's stream.
  void await(std::size_t r, std::int32_t step) {
    for (std::size_t d = 0; d < streams_[r].size(); ++d)
      for (const TaskId last : streams_[r][d]) tasks_.edge(last, at(r, step, d));
  }

  /// [bucket] reductions of a stage.
  std::shared_ptr<const cost::TimedReductions> reductions(std::size_t stage) const {
    cost::OperatorSets sets;
    for (const cost::GradientBucket& bucket : built_.buckets[stage])
      sets.push_back(plan::unshared(bucket.operators, shared()));
    return cost::timed_reductions(problem_, plan_.stages[stage], sets);
  }

  // Reductions among stages.

  /// Position of the stage's last instruction of these kinds in its row; -1: none.
  std::int32_t last_of(StageId stage, bool (*kind)(schedule::ActionKind)) const {
    const program::Row& of = row(rank_of(stage));
    auto p = static_cast<std::int32_t>(of.size()) - 1;
    const auto at = [&](std::int32_t position) { return of[static_cast<std::size_t>(position)]; };
    while (p >= 0 && !(at(p).stage == stage && kind(at(p).kind))) --p;
    return p;
  }

  /// Adds the reduction of shared parameters; needs two devices or more.
  void add_shared(std::size_t k) {
    const auto devices = plan::devices(shared()[k], plan_);
    if (devices.size() < 2) return;
    Ready ready;
    std::map<std::size_t, std::size_t> first;  // [rank] index of its first device among all
    for (const StageId stage : shared()[k].stages) {
      const std::size_t r = rank_of(stage);
      if (first.emplace(r, ready.size()).second)
        ready.insert(ready.end(), streams_[r].begin(), streams_[r].end());
      const std::int32_t computed = last_of(stage, program::releases);
      core::require(computed >= 0, "every stage has backward passes");
      for (std::size_t d = 0; d < streams_[r].size(); ++d) ready[first[r] + d].push_back(at(r, computed, d));
    }
    const cost::GradientReduction sum = cost::shared_reduction(problem_, plan_, shared()[k]);
    const Ready done = reduce(devices, {plan::home(shared()[k], plan_), static_cast<std::int32_t>(k)},
                              {sum, cost::time(problem_, sum)}, ready);
    for (const auto& [r, start] : first)
      std::copy_n(done.begin() + static_cast<std::ptrdiff_t>(start), streams_[r].size(), streams_[r].begin());
    for (const StageId stage : shared()[k].stages)
      if (const auto step = last_of(stage, [](auto kind) { return kind == schedule::ActionKind::step; });
          step >= 0)
        await(rank_of(stage), step);
  }

  /// `ready` and the result: [device of `devices`] tasks that must have ended.
  Ready reduce(const std::vector<core::DeviceId>& devices, ReductionLabel label,
               const cost::TimedReduction& reduction, const Ready& ready) {
    return options_.collective.travels() ? reduce_by_messages(devices, label, reduction.reduction, ready)
                                         : reduce_at_once(label, reduction, ready);
  }

  Ready reduce_at_once(ReductionLabel label, const cost::TimedReduction& reduction, const Ready& ready) {
    Task task;
    task.bytes = reduction.reduction.bytes.value();
    task.duration = tasks_.ticks(reduction.time);
    task.stage = label.stage;
    task.kind = TaskKind::all_reduce;
    task.micro_batch = label.shared;
    const TaskId id = tasks_.add(task);
    std::vector<TaskId> before;
    for (const auto& tasks : ready) before.insert(before.end(), tasks.begin(), tasks.end());
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const TaskId b : before) tasks_.edge(b, id);
    return Ready(ready.size(), {id});
  }

  Ready reduce_by_messages(const std::vector<core::DeviceId>& devices, ReductionLabel label,
                           const cost::GradientReduction& reduction, const Ready& ready) {
    Task like;
    like.stage = label.stage;
    like.kind = TaskKind::all_reduce;
    like.micro_batch = label.shared;
    Ready done(ready.size());
    for (const auto& group : reduction.groups) {
      std::vector<std::size_t> members;
      for (const core::DeviceId device : group)
        members.push_back(static_cast<std::size_t>(std::ranges::find(devices, device) - devices.begin()));
      Ready mine;
      for (const std::size_t member : members) mine.push_back(ready[member]);
      Ready reduced = messages_.add(like, messages_of(reduction, group), group, mine);
      for (std::size_t a = 0; a < members.size(); ++a) done[members[a]] = std::move(reduced[a]);
    }
    return done;
  }

  std::vector<collective::Message> messages_of(const cost::GradientReduction& reduction,
                                               const std::vector<core::DeviceId>& group) const {
    const std::int64_t bytes = reduction.bytes.value();
    return reduction.all_gather ? messages_.all_gather(group, bytes) : messages_.all_reduce(group, bytes);
  }

  /// Adds barriers: the k-th of all ranks are one task of no length.
  void add_barriers() {
    std::vector<TaskId> barriers;
    for (std::size_t r = 0; r < ranks(); ++r) {
      std::size_t k = 0;
      for (const std::int32_t update : built_.program.ranks[r].updates) {
        const auto p = static_cast<std::size_t>(update);
        if (row(r)[p].kind != schedule::ActionKind::barrier) continue;
        if (k == barriers.size()) barriers.push_back(tasks_.add(pause(StageId(0))));
        add_barrier(r, built_.tasks[r].at[p], barriers[k++]);
      }
    }
  }
  /// Puts a barrier between the last computing task before it and the next on the rank.
  void add_barrier(std::size_t r, TaskId before, TaskId barrier) {
    const auto devices = static_cast<TaskId>(built_.devices[r].size());
    const TaskId after = before + devices;
    for (TaskId d = 0; d < devices; ++d) {
      if (before >= built_.tasks[r].first) tasks_.edge(before + d, barrier);
      if (after < built_.tasks[r].end) tasks_.edge(barrier, after + d);
    }
  }

  const cost::Problem& problem_;
  const plan::Plan& plan_;
  const SimulationOptions& options_;
  const BuiltRows& built_;
  TaskList& tasks_;
  GroupMessages messages_{problem_.cluster, options_, tasks_};
  std::size_t behind_ = plan::behind_pipeline(plan_);
  std::vector<Ready> streams_;  ///< [rank] last reduction of its stream
};

}  // namespace

void add_updates(const cost::Problem& problem, const plan::Plan& plan, const SimulationOptions& options,
                 const BuiltRows& built, TaskList& tasks) {
  UpdateBuilder(problem, plan, options, built, tasks).add();
}

}  // namespace penstock::sim
