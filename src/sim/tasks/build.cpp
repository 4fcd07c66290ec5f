#include "tasks/build.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "penstock/collective/messages.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/plan/mesh.hpp"
#include "penstock/program/messages.hpp"
#include "penstock/sim/perturbation.hpp"
#include "tasks/cut_passes.hpp"
#include "tasks/group_messages.hpp"
#include "tasks/pass_collectives.hpp"
#include "tasks/post_order.hpp"
#include "tasks/task_list.hpp"
#include "tasks/updates.hpp"

namespace penstock::sim {
namespace {

using core::DeviceId;
using core::StageId;
using schedule::ActionKind;
using trace::TaskKind;

class IterationBuilder {
 public:
  IterationBuilder(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                   const SimulationOptions& options, FilledTimes* filled, const plan::Plan* copy)
      : problem_(problem),
        plan_(scheduled.plan),
        run_(copy != nullptr ? *copy : scheduled.plan),
        lanes_(plan_.stages.front().replica_size() / run_.stages.front().replica_size()),
        stages_(scheduled.stages),
        options_(options),
        filled_(filled),
        tasks_(problem.cluster, options.stop) {
    program::LoweringOptions lowering;
    if (options.pass_collectives == PassCollectives::links) {
      if (filled_ != nullptr)
        throw core::BadInput(
            "collectives within passes take links only where all samples are full, not with lengths");
      cut_.emplace(problem_, plan_, buckets_);
      lowering.pieces = [&](StageId stage, ActionKind kind, std::int32_t bucket) {
        return cut_->count(stage, kind, bucket);
      };
    }
    for (const plan::Stage& stage : plan_.stages) {
      buckets_.push_back(cost::buckets(problem_, stage));
      lowering.buckets.push_back(static_cast<std::int32_t>(buckets_.back().size()));
    }
    program_ = program::lower(problem.graph, scheduled, lowering);
    for (std::size_t s = 0; s < run_.stages.size(); ++s)
      program_.stages[s].sharing = program::SampleSharing(run_, run_.stages[s]);
    out_.cut = cut_.has_value();
    if (filled_ != nullptr)
      samples_.emplace(problem_, plan_, program_.stages.front().samples() / plan_.training.mini_batch,
                       options_);
  }

  IterationTasks build() {
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) add_pass_times(s);
    bucket_times_.resize(plan_.stages.size());
    step_times_.resize(plan_.stages.size());
    out_.devices.resize(program_.ranks.size());
    add_overlap();
    for (std::size_t s = 0; s < plan_.stages.size(); ++s)
      out_.devices[program_.stages[s].rank] = run_.stages[s].devices;
    tasks_.reserve(passes_and_messages());
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) add_row(r);
    if (options_.message_order == MessageOrder::in_order) posts_.emplace(program_);
    for (const plan::StageBoundary& boundary : stages_.boundaries()) add_boundary(boundary);
    if (posts_) posts_->chain(tasks_);
    add_updates(problem_, plan_, options_, {program_, buckets_, out_.devices, ranks_}, tasks_);
    for (program::StageProgram& stage : program_.stages) {
      const RankTasks& rank = ranks_[stage.rank];
      out_.stages.push_back(stage_tasks(rank, std::move(stage)));
    }
    program_.ranks.clear();
    out_.graph = tasks_.freeze();
    return std::move(out_);
  }

 private:
  static constexpr TaskId kNoTask = -1;

  void add_pass_times(std::size_t s) {
    const auto passes =
        samples_ ? std::make_shared<const cost::TimesByReplica>(filled_passes(s)) : full_passes(s);
    times_.emplace_back();
    for (const auto& of_replica : *passes) {
      times_[s].emplace_back();
      for (const cost::StageTime& pass : of_replica) times_[s].back().push_back(pass.total());
    }
    // With collectives on links, those of groups are between pieces.
    const auto within =
        cut_ ? times_of(s, {plan_.stages[s].operators}, cost::ReplicaTimes::CountedWaits::ring) : passes;
    out_.collectives.emplace_back();
    for (const auto& of_replica : *within) {
      out_.collectives[s].emplace_back();
      for (const cost::StageTime& pass : of_replica) out_.collectives[s].back().push_back(pass.collectives);
    }
  }

  /// [replica] times, equal for all its micro-batches.
  std::shared_ptr<const cost::TimesByReplica> full_passes(std::size_t s) const {
    return times_of(s, {plan_.stages[s].operators});
  }

  /// [replica][micro-batch] times.
  std::vector<std::vector<cost::StageTime>> filled_passes(std::size_t s) const {
    const program::StageProgram& stage = program_.stages[s];
    std::vector<std::vector<cost::StageTime>> out(static_cast<std::size_t>(stage.sharing.replicas));
    for (std::size_t r = 0; r < out.size(); ++r)
      for (std::size_t m = 0; m < stage.index.forward.size(); ++m) {
        options_.stop.check();
        out[r].push_back(filled_->pass(s, r, fill(stage, r, m)));
      }
    return out;
  }

  layout::SampleFill fill(const program::StageProgram& stage, std::size_t replica, std::size_t in_row) const {
    return samples_->fill(
        stage.sharing.share(static_cast<std::int64_t>(in_row), static_cast<std::int64_t>(replica)).samples);
  }

  void add_overlap() {
    const auto& types = problem_.cluster.types();
    if (std::all_of(types.begin(), types.end(), [](const auto& type) { return type.overlap_slowdown == 1; }))
      return;
    for (std::size_t d = 0; d < problem_.cluster.size(); ++d)
      tasks_.graph().overlap.push_back(problem_.cluster.type(DeviceId(d)).overlap_slowdown);
    for (const plan::Stage& stage : run_.stages) tasks_.graph().stage_devices.push_back(stage.devices);
    for (const auto& shared : program_.shared)
      tasks_.graph().shared_devices.push_back(plan::devices(shared, run_));
  }

  /// Estimate of the number of tasks.
  std::size_t passes_and_messages() const {
    std::size_t count = 0;
    for (std::size_t r = 0; r < program_.ranks.size(); ++r)
      count += program_.ranks[r].row.size() * out_.devices[r].size();
    const auto shares = [&](core::StageId id) {
      const plan::Stage& stage = run_.stages[id.index()];
      return static_cast<std::size_t>(run_.training.mini_batch / stage.micro_batch) * stage.devices.size();
    };
    for (const plan::StageBoundary& boundary : stages_.boundaries())
      count += 2 * std::max(shares(boundary.from), shares(boundary.to));
    return count;
  }

  // Rows of ranks.

  void add_row(std::size_t r) {
    const program::Row& row = program_.ranks[r].row;
    const auto width = static_cast<TaskId>(out_.devices[r].size());
    RankTasks& rank = ranks_.emplace_back();
    rank.first = static_cast<TaskId>(tasks_.size());
    rank.at.reserve(row.size());
    std::size_t last = row.size();
    while (last > 0 && !program::computes(row[last - 1].kind)) --last;
    for (std::size_t p = 0; p < row.size(); ++p) {
      if (program::computes(row[p].kind)) add_instruction(row[p], r, p + 1 < last);
      rank.at.push_back(static_cast<TaskId>(tasks_.size()) - width);
    }
    rank.end = static_cast<TaskId>(tasks_.size());
    meetings_.emplace_back(row.size(), kNoTask);
    if (std::ranges::any_of(plan_.stages, [](const auto& stage) { return stage.replica_size() > 1; }))
      keep_together(r);
    if (cut_) add_collectives(*cut_, {program_, plan_, program_.ranks[r].row, ranks_[r]}, messages_, tasks_);
  }

  void add_instruction(const program::Instruction& instruction, std::size_t rank, bool more) {
    const std::size_t width = out_.devices[rank].size();
    for (std::size_t d = 0; d < width; ++d) {
      Task task = compute_task(instruction, rank, d);
      if (more) task.next = static_cast<TaskId>(tasks_.size() + width);
      tasks_.add(task);
    }
  }

  /// The devices of a group start their next pass, or pair that runs as one, together.
  void keep_together(std::size_t r) {
    const program::Instruction* before = nullptr;
    for (std::size_t p = 0; p < program_.ranks[r].row.size(); ++p) {
      const program::Instruction& instruction = program_.ranks[r].row[p];
      if (!program::computes(instruction.kind)) continue;
      if (before && !instruction.joined) {
        meetings_[r][p] = meet(r, before->stage, ranks_[r].at[p]);
        if (group_of(instruction.stage) != group_of(before->stage))  // one of the two stages is colocated
          meetings_[r][p] = meet(r, instruction.stage, ranks_[r].at[p]);
      }
      before = &instruction;
    }
  }

  /// Number of devices of one replica.
  TaskId group_of(StageId stage) const { return program_.stages[stage.index()].sharing.group; }

  /// Joins the devices of the stage's groups before this task and after the pass before it, each group
  /// through a task of no length. Returns the first of these; none if groups have one device.
  TaskId meet(std::size_t r, StageId stage, TaskId task) {
    const auto width = static_cast<TaskId>(out_.devices[r].size());
    const TaskId group = group_of(stage);
    if (group == 1) return kNoTask;
    const auto first = static_cast<TaskId>(tasks_.size());
    for (TaskId start = 0; start < width; start += group) {
      const TaskId id = tasks_.add(pause(stage));
      for (TaskId d = start; d < start + group; ++d) {
        tasks_.edge(task - width + d, id);
        tasks_.edge(id, task + d);
      }
    }
    return first;
  }

  Task compute_task(const program::Instruction& from, std::size_t rank, std::size_t device) {
    const program::SampleSharing& sharing = program_.stages[from.stage.index()].sharing;
    Task task;
    task.duration = tasks_.ticks(duration(from, device));
    task.place = static_cast<std::int32_t>(out_.devices[rank][device].index());
    task.stage = from.stage;
    task.kind = program::traced(from.kind);
    task.micro_batch = from.micro_batch;
    if (sharing.in_turn && from.micro_batch >= 0)
      task.micro_batch =
          from.micro_batch * sharing.replicas + static_cast<std::int32_t>(device) / sharing.group;
    return task;
  }

  core::Seconds duration(const program::Instruction& instruction, std::size_t device) {
    const std::size_t s = instruction.stage.index();
    const auto group = static_cast<std::size_t>(program_.stages[s].sharing.group);
    if (instruction.kind == ActionKind::step) return step_time(s, device);
    if (instruction.piece >= 0)
      return cut_->time(instruction, device / group,
                        std::max<std::int64_t>(
                            1, program_.stages[s].sharing.size(static_cast<std::int64_t>(device / group))));
    const auto micro_batch = static_cast<std::size_t>(instruction.micro_batch);
    if (instruction.bucket < 0)
      return time_of(instruction.kind, of_micro_batch(times_[s][device / group], micro_batch));
    const auto b = static_cast<std::size_t>(instruction.bucket);
    if (samples_)
      return time_of(
          instruction.kind,
          filled_->pieces(s, device / group, fill(program_.stages[s], device / group, micro_batch))[b]
              .total());
    if (bucket_times_[s] == nullptr) bucket_times_[s] = times_of(s, operators_of(buckets_[s]));
    return time_of(instruction.kind, (*bucket_times_[s])[device / group][b].total());
  }

  /// Position of a lane's device among those of the whole stage.
  std::size_t in_whole(std::size_t s, std::size_t device) const {
    const auto lane = static_cast<std::size_t>(run_.stages[s].replica_size()),
               group = static_cast<std::size_t>(plan_.stages[s].replica_size());
    return device / lane * group + device % lane;
  }

  /// Time of an update: equal for devices of one type with equal parts of the weights.
  core::Seconds step_time(std::size_t s, std::size_t device) {
    const plan::Stage& stage = plan_.stages[s];
    const std::size_t member = plan::Mesh(stage).coordinate(in_whole(s, device), plan::MeshDim::tensor);
    const std::size_t type = problem_.cluster.devices()[run_.stages[s].devices[device].index()].type;
    const auto [known, fresh] = step_times_[s].try_emplace({cost::part_of(stage, member), type});
    if (fresh) known->second = cost::step_time(problem_, stage, member, problem_.cluster.types()[type]);
    return known->second;
  }

  static cost::OperatorSets operators_of(const std::vector<cost::GradientBucket>& buckets) {
    cost::OperatorSets out;
    for (const cost::GradientBucket& bucket : buckets) out.push_back(bucket.operators);
    return out;
  }

  /// [replica][set of operators] times.
  std::shared_ptr<const cost::TimesByReplica> times_of(
      std::size_t s, const cost::OperatorSets& sets,
      cost::ReplicaTimes::CountedWaits waits = cost::ReplicaTimes::CountedWaits::all) const {
    const program::SampleSharing& sharing = program_.stages[s].sharing;
    std::vector<std::int64_t> samples;
    for (std::int64_t r = 0; r < sharing.replicas; ++r)
      samples.push_back(std::max<std::int64_t>(1, sharing.size(r)));
    return cost::replica_times(problem_, plan_.stages[s], sets, samples, waits);
  }

  // Messages between stages.

  void add_boundary(const plan::StageBoundary& boundary) {
    const core::Bytes moving =
        samples_ ? layout::sequence_bytes(problem_.graph, stages_, boundary) : core::Bytes(0);
    program::for_each_message(program_, boundary, [&](const program::StageMessage& message) {
      const core::Bytes bytes = samples_ ? samples_->bytes(boundary.bytes, moving, message.samples)
                                         : boundary.bytes * message.samples.count;
      send(message, problem_.training.compression.activation_bytes(bytes).value());
    });
  }

  /// Task of the first device.
  TaskId task_at(StageId stage, std::int32_t position) const {
    return ranks_[program_.stages[stage.index()].rank].at[static_cast<std::size_t>(position)];
  }

  /// Adds a message; `bytes` are those of all parts.
  void send(const program::StageMessage& message, std::int64_t bytes) {
    const TaskId sender = message.from.device, receiver = message.to.device;
    const TaskId done = task_at(message.from.stage, message.from.position) + sender,
                 first = task_at(message.to.stage, message.to.position), waits = first + receiver;
    const bool local = tasks_.graph().task(done).place == tasks_.graph().task(waits).place;
    TaskId arrives = done;
    if (bytes > 0 && !local) {
      const std::int64_t parts = message.parts * lanes_;
      arrives =
          add_transfer(done, waits, collective::nearly_equal_part(bytes, parts, message.part), message.from);
      if (posts_)
        posts_->add(message, {arrives, tasks_.graph().task(done).device().index(),
                              tasks_.graph().task(waits).device().index()});
      else if (message.gate >= 0)
        tasks_.edge(task_at(message.to.stage, message.gate) + receiver, arrives);
    } else {
      tasks_.edge(done, waits);
    }
    wait_together(arrives, message.to, first);
  }

  /// Makes all devices of the receiving group wait, at their meeting before that pass, or each separately.
  void wait_together(TaskId arrives, const program::MessageEnd& to, TaskId first) {
    const program::StageProgram& stage = program_.stages[to.stage.index()];
    const TaskId meeting = meetings_[stage.rank][static_cast<std::size_t>(to.position)];
    if (meeting != kNoTask) return tasks_.edge(arrives, meeting + to.share.replica);
    const TaskId group = stage.sharing.group, begin = to.share.replica * group;
    for (TaskId d = begin; d < begin + group; ++d)
      if (d != to.device) tasks_.edge(arrives, first + d);
  }

  TaskId add_transfer(TaskId sender, TaskId receiver, std::int64_t bytes, const program::MessageEnd& from) {
    Task task =
        tasks_.transfer(tasks_.graph().task(sender).device(), tasks_.graph().task(receiver).device(), bytes);
    task.next = receiver;
    task.stage = from.stage;
    task.micro_batch = from.share.number;
    const TaskId id = tasks_.add(task);
    tasks_.edge(sender, id);
    return id;
  }

  const cost::Problem& problem_;
  const plan::Plan& plan_;
  /// Plan whose tasks these are: the whole plan, or a copy or lane that represents it.
  const plan::Plan& run_;
  std::int64_t lanes_;  ///< lanes per group, of which run_ has one
  const plan::StageGraph& stages_;
  const SimulationOptions& options_;
  FilledTimes* filled_;                   ///< null: samples are full
  std::optional<FilledSamples> samples_;  ///< empty: samples are full
  std::optional<PostOrder> posts_;        ///< messages in order; none: free
  TaskList tasks_;
  IterationTasks out_;
  std::vector<std::vector<cost::GradientBucket>> buckets_;  ///< [stage]
  std::optional<CutPasses> cut_;                            ///< set if collectives within passes use links
  GroupMessages messages_{problem_.cluster, options_, tasks_};
  program::Program program_;
  std::vector<RankTasks> ranks_;               ///< [rank]
  std::vector<std::vector<TaskId>> meetings_;  ///< [rank][position] meeting of the first group; kNoTask
  std::vector<std::vector<std::vector<cost::OpTime>>> times_;  ///< [stage][replica], of_micro_batch
  /// [stage] times by bucket, computed when needed.
  std::vector<std::shared_ptr<const cost::TimesByReplica>> bucket_times_;
  /// [stage] {part, type} to time of an update.
  std::vector<std::map<std::pair<double, std::size_t>, core::Seconds>> step_times_;
};

}  // namespace

IterationTasks build_iteration(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                               const SimulationOptions& options, FilledTimes* filled,
                               const plan::Plan* copy) {
  return IterationBuilder(problem, scheduled, options, filled, copy).build();
}

}  // namespace penstock::sim
