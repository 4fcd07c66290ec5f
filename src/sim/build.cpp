#include "build.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"
#include "rows.hpp"
#include "task_list.hpp"
#include "updates.hpp"

namespace penstock::sim {
namespace {

using core::DeviceId;
using core::StageId;
using schedule::Pass;
using trace::TaskKind;

TaskKind kind_of(Pass pass) {
  switch (pass) {
    case Pass::forward: return TaskKind::forward;
    case Pass::backward: return TaskKind::backward;
    case Pass::input_gradient: return TaskKind::input_gradient;
    case Pass::weight_gradient: return TaskKind::weight_gradient;
    case Pass::recompute: return TaskKind::recompute;
    case Pass::step: return TaskKind::step;
    default: throw core::Error(core::ExitCode::internal, "a row holds a pass that nothing computes");
  }
}

core::Seconds time_of(Pass pass, const cost::OpTime& time) {
  if (pass == Pass::forward || pass == Pass::recompute) return time.forward;
  if (pass == Pass::backward) return time.backward();
  return pass == Pass::input_gradient ? time.input_gradient : time.weight_gradient;
}

class Builder {
 public:
  Builder(const cost::Problem& problem, const plan::Plan& plan, const plan::StageGraph& stages,
          const schedule::Grid& order, const SimulationOptions& options)
      : problem_(problem), plan_(plan), stages_(stages), order_(order), options_(options), tasks_(problem.cluster, options.stop) {}

  Iteration build() {
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const plan::Stage& stage = plan_.stages[s];
      const bool reduced = stage.devices.size() > 1;
      buckets_.push_back(buckets(problem_.graph, stage, reduced ? options_.bucket : core::Bytes(0)));
      times_.emplace_back();
      for (std::size_t a = 0; a < stage.devices.size(); ++a) times_[s].push_back(time(s, stage.operators, a));
    }
    rows_ = rank_rows(order_, buckets_);
    out_.devices.resize(rows_.size());
    add_overlap();
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) out_.devices[rank(s)] = plan_.stages[s].devices;
    for (std::size_t r = 0; r < rows_.size(); ++r) add_row(r);
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) index_stage(s);
    for (const plan::Boundary& boundary : stages_.boundaries()) add_boundary(boundary);
    add_updates(problem_, options_, {rows_, buckets_, out_.devices, first_}, tasks_);
    out_.graph = tasks_.freeze();
    return std::move(out_);
  }

 private:
  void add_overlap() {
    const auto& types = problem_.cluster.types();
    if (std::all_of(types.begin(), types.end(), [](const auto& type) { return type.overlap_slowdown == 1; })) return;
    for (std::size_t d = 0; d < problem_.cluster.size(); ++d)
      tasks_.graph().overlap.push_back(problem_.cluster.type(DeviceId(d)).overlap_slowdown);
    for (const plan::Stage& stage : plan_.stages) {
      tasks_.graph().stage_devices.emplace_back();
      for (const DeviceId d : stage.devices) tasks_.graph().stage_devices.back().push_back(static_cast<std::int32_t>(d.index()));
    }
  }

  std::size_t rank(std::size_t stage) const { return static_cast<std::size_t>(order_.rank_of_stage[stage]); }
  std::int64_t replicas(std::size_t rank) const { return static_cast<std::int64_t>(out_.devices[rank].size()); }

  // Rows.

  void add_row(std::size_t r) {
    first_.push_back(static_cast<TaskId>(tasks_.size()));
    const RankRow& row = rows_[r];
    const auto width = static_cast<TaskId>(replicas(r));
    for (std::size_t p = 0; p < row.tasks.size(); ++p)
      for (TaskId a = 0; a < width; ++a) {
        const TaskId id = tasks_.add(compute_task(row.tasks[p], r, static_cast<std::size_t>(a)));
        if (p + 1 < row.tasks.size()) tasks_.graph().tasks.back().next = id + width;
      }
  }

  Task compute_task(const RowTask& from, std::size_t rank, std::size_t replica) {
    const auto s = static_cast<std::size_t>(from.stage);
    Task task;
    task.duration = tasks_.ticks(duration(from, rank, replica));
    task.place = static_cast<std::int32_t>(out_.devices[rank][replica].index());
    task.stage = from.stage;
    task.kind = kind_of(from.pass);
    task.micro_batch = from.micro_batch;
    if (in_turn() && from.micro_batch >= 0)
      task.micro_batch = from.micro_batch * static_cast<std::int32_t>(plan_.stages[s].devices.size()) +
                         static_cast<std::int32_t>(replica);
    return task;
  }

  core::Seconds duration(const RowTask& task, std::size_t rank, std::size_t replica) {
    const auto s = static_cast<std::size_t>(task.stage);
    const cluster::DeviceType& type = problem_.cluster.type(out_.devices[rank][replica]);
    if (task.pass == Pass::step) return problem_.costs.step_time(weights(s), problem_.training.optimizer, type);
    if (task.bucket < 0) return time_of(task.pass, times_[s][replica]);
    return time_of(task.pass, time(s, buckets_[s][static_cast<std::size_t>(task.bucket)].operators, replica));
  }

  cost::OpTime time(std::size_t s, std::span<const core::OpId> operators, std::size_t replica) const {
    const plan::Stage& stage = plan_.stages[s];
    const auto share = empty_tasks(stage).share(static_cast<std::int64_t>(replica));
    return cost::compute_time(problem_, operators, problem_.cluster.type(stage.devices[replica]),
                              std::max<std::int64_t>(1, share));
  }

  StageTasks empty_tasks(const plan::Stage& stage) const {
    StageTasks tasks;
    tasks.replicas = static_cast<std::int32_t>(stage.devices.size());
    tasks.micro_batch = stage.micro_batch;
    tasks.in_turn = in_turn();
    return tasks;
  }

  bool in_turn() const { return plan::asynchronous(plan_); }
  core::Bytes weights(std::size_t stage) const {
    core::Bytes sum;
    for (const Bucket& bucket : buckets_[stage]) sum += bucket.gradients;
    return sum;
  }

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
    std::int64_t end;          ///< sample, one past its last
    std::int32_t number;       ///< of the micro-batch among all
  };
  static Slice slice(const StageTasks& stage, std::int64_t number) {
    const std::int64_t m = number / stage.replicas, r = number % stage.replicas;
    const std::int64_t end = stage.in_turn ? (number + 1) * stage.micro_batch
                                           : m * stage.micro_batch + stage.share_start(r + 1);
    return {static_cast<std::size_t>(m), r, end, static_cast<std::int32_t>(stage.in_turn ? number : m)};
  }

  /// Both partitions of the samples into replica shares are walked side by side; each overlap is a message.
  void add_boundary(const plan::Boundary& boundary) {
    const StageTasks &x = out_.stages[boundary.from.index()], &y = out_.stages[boundary.to.index()];
    const std::int64_t samples =
        static_cast<std::int64_t>(x.forward.size()) * x.micro_batch * (x.in_turn ? x.replicas : 1);
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

  void add_messages(const plan::Boundary& boundary, const StageTasks& x, const Slice& a, const StageTasks& y,
                    const Slice& b, std::int64_t samples) {
    const TaskId f_x = x.at(x.forward[a.micro_batch].last, a.replica), f_y = y.at(y.forward[b.micro_batch].first, b.replica);
    const TaskId b_x = x.at(x.backward[a.micro_batch].first, a.replica);
    const TaskId b_y = y.at(y.backward[b.micro_batch].last, b.replica);
    const bool local = tasks_.graph().task(f_x).place == tasks_.graph().task(f_y).place;
    if (boundary.bytes.value() == 0 || local) {
      tasks_.edge(f_x, f_y);
      tasks_.edge(b_y, b_x);
      return;
    }
    const std::int64_t bytes = boundary.bytes.value() * samples;
    const TaskId ahead = add_transfer(f_x, f_y, bytes, boundary.from, a.number);
    if (const auto gate = y.forward_gate[b.micro_batch]; gate >= 0) tasks_.edge(y.at(gate, b.replica), ahead);
    const TaskId back = add_transfer(b_y, b_x, bytes, boundary.to, b.number);
    if (const auto gate = x.backward_gate[a.micro_batch]; gate >= 0) tasks_.edge(x.at(gate, a.replica), back);
  }

  TaskId add_transfer(TaskId sender, TaskId receiver, std::int64_t bytes, StageId stage, std::int32_t micro_batch) {
    Task task = tasks_.transfer(tasks_.graph().task(sender).place, tasks_.graph().task(receiver).place, bytes);
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
  const schedule::Grid& order_;
  const SimulationOptions& options_;
  TaskList tasks_;
  Iteration out_;
  std::vector<std::vector<Bucket>> buckets_;  ///< [stage]
  std::vector<RankRow> rows_;
  std::vector<TaskId> first_;  ///< [rank]
  std::vector<std::vector<cost::OpTime>> times_;  ///< [stage][replica]
};

}  // namespace

Iteration build_iteration(const cost::Problem& problem, const plan::Plan& plan, const plan::StageGraph& stages,
                          const schedule::Grid& order, const SimulationOptions& options) {
  return Builder(problem, plan, stages, order, options).build();
}

}  // namespace penstock::sim
