#include "tasks/build.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "penstock/collective/messages.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "tasks/rows.hpp"
#include "tasks/task_list.hpp"
#include "tasks/updates.hpp"

namespace penstock::sim {
namespace {

using core::DeviceId;
using core::StageId;
using schedule::ActionKind;
using trace::TaskKind;

TaskKind kind_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward:
      return TaskKind::forward;
    case ActionKind::backward:
      return TaskKind::backward;
    case ActionKind::input_gradient:
      return TaskKind::input_gradient;
    case ActionKind::weight_gradient:
      return TaskKind::weight_gradient;
    case ActionKind::recompute:
      return TaskKind::recompute;
    case ActionKind::step:
      return TaskKind::step;
    default:
      throw core::Error(core::ExitCode::internal, "a row holds a pass that nothing computes");
  }
}

core::Seconds time_of(ActionKind kind, const cost::OpTime& time) {
  if (kind == ActionKind::forward) return time.forward;
  if (kind == ActionKind::recompute) return time.recompute;
  if (kind == ActionKind::backward) return time.backward();
  return kind == ActionKind::input_gradient ? time.input_gradient : time.weight_gradient;
}

class Builder {
 public:
  Builder(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
          const SimulationOptions& options)
      : problem_(problem),
        plan_(scheduled.plan),
        stages_(scheduled.stages),
        order_(scheduled.order),
        options_(options),
        tasks_(problem.cluster, options.stop) {}

  Iteration build() {
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const plan::Stage& stage = plan_.stages[s];
      buckets_.push_back(cost::buckets(problem_, stage));
      times_.emplace_back();
      out_.collectives.emplace_back();
      for (const auto& passes : times_of(stage, {stage.operators})) {
        times_[s].push_back(passes.front().total());
        out_.collectives[s].push_back(passes.front().collectives);
      }
    }
    bucket_times_.resize(plan_.stages.size());
    step_times_.resize(plan_.stages.size());
    rows_ = rank_rows(order_, buckets_);
    out_.devices.resize(rows_.size());
    add_overlap();
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) out_.devices[rank(s)] = plan_.stages[s].devices;
    tasks_.reserve(passes_and_messages());
    for (std::size_t r = 0; r < rows_.size(); ++r) add_row(r);
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) index_stage(s);
    for (const plan::Boundary& boundary : stages_.boundaries()) add_boundary(boundary);
    add_updates(problem_, plan_, options_, {rows_, buckets_, out_.devices, first_}, tasks_);
    out_.graph = tasks_.freeze();
    return std::move(out_);
  }

 private:
  void add_overlap() {
    const auto& types = problem_.cluster.types();
    if (std::all_of(types.begin(), types.end(), [](const auto& type) { return type.overlap_slowdown == 1; }))
      return;
    for (std::size_t d = 0; d < problem_.cluster.size(); ++d)
      tasks_.graph().overlap.push_back(problem_.cluster.type(DeviceId(d)).overlap_slowdown);
    const auto numbers = [](const std::vector<DeviceId>& devices) {
      std::vector<std::int32_t> out;
      for (const DeviceId d : devices) out.push_back(static_cast<std::int32_t>(d.index()));
      return out;
    };
    for (const plan::Stage& stage : plan_.stages)
      tasks_.graph().stage_devices.push_back(numbers(stage.devices));
    for (const auto& shared : plan::shared_parameters(problem_.graph, plan_))
      tasks_.graph().shared_devices.push_back(numbers(plan::devices(shared, plan_)));
  }

  /// About as many tasks as there will be.
  std::size_t passes_and_messages() const {
    std::size_t count = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) count += rows_[r].tasks.size() * out_.devices[r].size();
    const auto slices = [&](core::StageId id) {
      const plan::Stage& stage = plan_.stages[id.index()];
      return static_cast<std::size_t>(plan_.training.mini_batch / stage.micro_batch) * stage.devices.size();
    };
    for (const plan::Boundary& boundary : stages_.boundaries())
      count += 2 * std::max(slices(boundary.from), slices(boundary.to));
    return count;
  }

  std::size_t rank(std::size_t stage) const { return static_cast<std::size_t>(order_.rank_of_stage[stage]); }

  // Rows.

  void add_row(std::size_t r) {
    first_.push_back(static_cast<TaskId>(tasks_.size()));
    const RankRow& row = rows_[r];
    const auto width = static_cast<TaskId>(out_.devices[r].size());
    for (std::size_t p = 0; p < row.tasks.size(); ++p)
      for (TaskId d = 0; d < width; ++d) {
        Task task = compute_task(row.tasks[p], r, static_cast<std::size_t>(d));
        if (p + 1 < row.tasks.size()) task.next = static_cast<TaskId>(tasks_.size()) + width;
        tasks_.add(task);
      }
    for (std::size_t p = 0; p + 1 < row.tasks.size(); ++p)
      if (!row.tasks[p + 1].joined) keep_together(r, row.tasks[p].stage, p);
  }

  /// The devices of a group go on to their next pass, or pair that runs as one, together: through a task of
  /// no length.
  void keep_together(std::size_t r, std::int32_t stage, std::size_t position) {
    const auto width = static_cast<TaskId>(out_.devices[r].size());
    const TaskId group = plan_.stages[static_cast<std::size_t>(stage)].tensor_parallel;
    for (TaskId start = 0; group > 1 && start < width; start += group) {
      const TaskId id = tasks_.add(pause(stage));
      for (TaskId d = start; d < start + group; ++d) {
        const TaskId before = first_[r] + static_cast<TaskId>(position) * width + d;
        tasks_.edge(before, id);
        tasks_.edge(id, before + width);
      }
    }
  }

  Task compute_task(const RowTask& from, std::size_t rank, std::size_t device) {
    const plan::Stage& stage = plan_.stages[static_cast<std::size_t>(from.stage)];
    Task task;
    task.duration = tasks_.ticks(duration(from, device));
    task.place = static_cast<std::int32_t>(out_.devices[rank][device].index());
    task.stage = from.stage;
    task.kind = kind_of(from.kind);
    task.micro_batch = from.micro_batch;
    if (in_turn() && from.micro_batch >= 0)
      task.micro_batch = from.micro_batch * static_cast<std::int32_t>(stage.replicas()) +
                         static_cast<std::int32_t>(device) / stage.tensor_parallel;
    return task;
  }

  core::Seconds duration(const RowTask& task, std::size_t device) {
    const auto s = static_cast<std::size_t>(task.stage);
    const plan::Stage& stage = plan_.stages[s];
    const auto group = static_cast<std::size_t>(stage.tensor_parallel);
    if (task.kind == ActionKind::step) return step_time(s, device);
    if (task.bucket < 0) return time_of(task.kind, times_[s][device / group]);
    const auto b = static_cast<std::size_t>(task.bucket);
    if (bucket_times_[s].empty()) bucket_times_[s] = times_of(stage, operators_of(buckets_[s]));
    return time_of(task.kind, bucket_times_[s][device / group][b].total());
  }

  /// Devices of one type with equal parts of the weights take equally long.
  core::Seconds step_time(std::size_t s, std::size_t device) {
    const plan::Stage& stage = plan_.stages[s];
    const std::size_t member = device % static_cast<std::size_t>(stage.tensor_parallel);
    const std::size_t type = problem_.cluster.devices()[stage.devices[device].index()].type;
    const auto [known, fresh] = step_times_[s].try_emplace({cost::part_of(stage, member), type});
    if (fresh) known->second = cost::step_time(problem_, stage, member, problem_.cluster.types()[type]);
    return known->second;
  }

  static cost::OperatorSets operators_of(const std::vector<cost::Bucket>& buckets) {
    cost::OperatorSets out;
    for (const cost::Bucket& bucket : buckets) out.push_back(bucket.operators);
    return out;
  }

  /// By replica and set of operators.
  std::vector<std::vector<cost::StageTime>> times_of(const plan::Stage& stage,
                                                     cost::OperatorSets sets) const {
    cost::ReplicaTimes times(problem_, stage, std::move(sets));
    const StageTasks tasks = empty_tasks(stage);
    std::vector<std::vector<cost::StageTime>> out;
    for (std::int64_t r = 0; r < stage.replicas(); ++r)
      out.push_back(times.times(static_cast<std::size_t>(r), std::max<std::int64_t>(1, tasks.share(r))));
    return out;
  }

  StageTasks empty_tasks(const plan::Stage& stage) const {
    StageTasks tasks;
    tasks.devices = static_cast<std::int32_t>(stage.devices.size());
    tasks.group = stage.tensor_parallel;
    tasks.micro_batch = stage.micro_batch;
    tasks.in_turn = in_turn();
    tasks.late = stage.recompute && !stage.recompute.early;
    return tasks;
  }

  bool in_turn() const { return plan::asynchronous(plan_); }

  void index_stage(std::size_t s) {
    StageTasks tasks = empty_tasks(plan_.stages[s]);
    tasks.first = first_[rank(s)];
    index_row(rows_[rank(s)], static_cast<std::int32_t>(s), tasks);
    out_.stages.push_back(std::move(tasks));
  }

  // Messages.

  /// One replica's share of one micro-batch.
  struct Slice {
    std::size_t micro_batch;  ///< index into the arrays of StageTasks
    std::int64_t replica;
    std::int64_t end;     ///< sample, one past its last
    std::int32_t number;  ///< of the micro-batch among all
  };
  static Slice slice(const StageTasks& stage, std::int64_t number) {
    const std::int64_t m = number / stage.replicas(), r = number % stage.replicas();
    const std::int64_t end =
        stage.in_turn ? (number + 1) * stage.micro_batch : m * stage.micro_batch + stage.share_start(r + 1);
    return {static_cast<std::size_t>(m), r, end, static_cast<std::int32_t>(stage.in_turn ? number : m)};
  }

  /// Both partitions of the samples into replica shares are walked side by side; each overlap is a message.
  void add_boundary(const plan::Boundary& boundary) {
    const StageTasks &x = out_.stages[boundary.from.index()], &y = out_.stages[boundary.to.index()];
    const std::int64_t samples =
        static_cast<std::int64_t>(x.forward.size()) * x.micro_batch * (x.in_turn ? x.replicas() : 1);
    std::int64_t i = 0, j = 0;
    for (std::int64_t sample = 0; sample < samples;) {
      const Slice from = slice(x, i), to = slice(y, j);
      const std::int64_t end = std::min(from.end, to.end);
      if (end > sample) add_messages(boundary, x, from, y, to, end - sample);
      sample = std::max(sample, end);
      i += from.end == end;
      j += to.end == end;
    }
  }

  /// In parts, from and to the devices of both groups in turn.
  void add_messages(const plan::Boundary& boundary, const StageTasks& x, const Slice& a, const StageTasks& y,
                    const Slice& b, std::int64_t samples) {
    const Stretch forward{x.forward[a.micro_batch].last, y.forward[b.micro_batch].first};
    const Stretch backward{y.backward[b.micro_batch].last, x.backward[a.micro_batch].first};
    const core::Bytes bytes = problem_.training.compression.activation_bytes(boundary.bytes * samples);
    send(x, a, y, b, forward, y.forward_gate[b.micro_batch], bytes, boundary.from);
    send(y, b, x, a, backward, x.backward_gate[a.micro_batch], bytes, boundary.to);
  }

  /// From the end of one task to the start of another, at these positions of their rows.
  void send(const StageTasks& from, const Slice& a, const StageTasks& to, const Slice& b, Stretch when,
            std::int32_t gate, core::Bytes bytes, StageId sender) {
    const std::int64_t first_from = a.replica * from.group, first_to = b.replica * to.group;
    const std::int64_t parts = std::max(from.group, to.group);
    for (std::int64_t i = 0; i < parts; ++i) {
      const std::int64_t receiver = first_to + i % to.group;
      const TaskId done = from.at(when.first, first_from + i % from.group),
                   waits = to.at(when.last, receiver);
      const bool local = tasks_.graph().task(done).place == tasks_.graph().task(waits).place;
      TaskId arrives = done;
      if (bytes.value() > 0 && !local) {
        arrives = add_transfer(done, waits, collective::nearly_equal_part(bytes.value(), parts, i), sender,
                               a.number);
        if (gate >= 0) tasks_.edge(to.at(gate, receiver), arrives);
      } else {
        tasks_.edge(done, waits);
      }
      for (std::int64_t d = first_to; d < first_to + to.group; ++d)
        if (d != receiver) tasks_.edge(arrives, to.at(when.last, d));
    }
  }

  static Task pause(std::int32_t stage) {
    Task task;
    task.kind = TaskKind::all_reduce;
    task.stage = stage;
    return task;
  }

  TaskId add_transfer(TaskId sender, TaskId receiver, std::int64_t bytes, StageId stage,
                      std::int32_t micro_batch) {
    Task task =
        tasks_.transfer(tasks_.graph().task(sender).place, tasks_.graph().task(receiver).place, bytes);
    task.next = receiver;
    task.stage = static_cast<std::int32_t>(stage.index());
    task.micro_batch = micro_batch;
    const TaskId id = tasks_.add(task);
    tasks_.edge(sender, id);
    return id;
  }

  const cost::Problem& problem_;
  const plan::Plan& plan_;
  const plan::StageGraph& stages_;
  const schedule::Schedule& order_;
  const SimulationOptions& options_;
  TaskList tasks_;
  Iteration out_;
  std::vector<std::vector<cost::Bucket>> buckets_;  ///< [stage]
  std::vector<RankRow> rows_;
  std::vector<TaskId> first_;                     ///< [rank]
  std::vector<std::vector<cost::OpTime>> times_;  ///< [stage][replica]
  std::vector<std::vector<std::vector<cost::StageTime>>>
      bucket_times_;  ///< [stage][replica][bucket], when needed
  std::vector<std::map<std::pair<double, std::size_t>, core::Seconds>> step_times_;  ///< [stage] {part, type}
};

}  // namespace

Iteration build_iteration(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                          const SimulationOptions& options) {
  return Builder(problem, scheduled, options).build();
}

}  // namespace penstock::sim
