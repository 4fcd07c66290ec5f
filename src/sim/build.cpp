#include "build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "collective.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/communication.hpp"
#include "rows.hpp"

namespace penstock::sim {
namespace {

using core::DeviceId;
using core::StageId;
using schedule::Pass;
using trace::TaskKind;

constexpr double kSecondsPerPicosecond = 1e-12;

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

/// Fills in where the tasks of one stage stand in its rank's row, and its gates.
class StageIndex {
 public:
  StageIndex(const RankRow& row, std::int32_t stage, StageTasks& out) : row_(row), out_(out) {
    for (std::int32_t p = 0; p < static_cast<std::int32_t>(row.tasks.size()); ++p) {
      const RowTask& task = row.tasks[static_cast<std::size_t>(p)];
      if (task.stage == stage && task.pass != Pass::step) place(task, p);
    }
    out.forward_gate.assign(out.forward.size(), -1);
    out.backward_gate.assign(out.forward.size(), -1);
    for (std::size_t j = most_ + 1; j < forwards_.size(); ++j)
      out.forward_gate[forwards_[j]] = out.release[releases_[j - most_ - 1]];
    for (std::size_t j = 2; j < backwards_.size(); ++j)
      out.backward_gate[backwards_[j]] = out.backward[backwards_[j - 2]].last;
  }

 private:
  bool leads(std::int32_t p) const {
    const auto next = static_cast<std::size_t>(p) + 1;
    return next < row_.tasks.size() && row_.tasks[next].joined;
  }
  template <class T>
  static T& slot(std::vector<T>& list, std::size_t m, T none) {
    if (m >= list.size()) list.resize(m + 1, none);
    return list[m];
  }
  void place(const RowTask& task, std::int32_t p) {
    const auto m = static_cast<std::size_t>(task.micro_batch);
    const std::int32_t first = task.joined ? p - 1 : p, last = leads(p) ? p + 1 : p;
    if (task.pass == Pass::forward) {
      slot(out_.forward, m, {}) = {first, last};
      forwards_.push_back(m);
      most_ = std::max(most_, forwards_.size() - releases_.size());
    } else if (task.pass == Pass::recompute) {
      slot(out_.recompute, m, -1) = p;
    } else if (task.pass != Pass::weight_gradient) {
      Stretch& stretch = slot(out_.backward, m, {});
      if (stretch.first < 0) stretch.first = first, backwards_.push_back(m);
      stretch.last = last;
    }
    if (task.pass == Pass::backward || task.pass == Pass::weight_gradient) {
      std::int32_t& release = slot(out_.release, m, -1);
      if (release < 0) releases_.push_back(m);
      release = last;
    }
  }

  const RankRow& row_;
  StageTasks& out_;
  std::vector<std::size_t> forwards_, backwards_, releases_;  ///< micro-batches in the order of the row
  std::size_t most_ = 0;                                      ///< most held at once
};

class Builder {
 public:
  Builder(const cost::Problem& problem, const plan::Plan& plan, const plan::StageGraph& stages,
          const schedule::Grid& order, const SimulationOptions& options)
      : problem_(problem), plan_(plan), stages_(stages), order_(order), options_(options) {}

  Iteration build() {
    out_.graph.devices = problem_.cluster.size();
    for (const cluster::Link& link : problem_.cluster.links())
      out_.graph.capacity.push_back(link.bandwidth.value() * kSecondsPerPicosecond);
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
    for (std::size_t r = 0; r < rows_.size(); ++r) add_reductions(r);
    add_barriers();
    edges_.freeze(out_.graph);
    return std::move(out_);
  }

 private:
  void add_overlap() {
    const auto& types = problem_.cluster.types();
    if (std::all_of(types.begin(), types.end(), [](const auto& type) { return type.overlap_slowdown == 1; })) return;
    for (std::size_t d = 0; d < problem_.cluster.size(); ++d)
      out_.graph.overlap.push_back(problem_.cluster.type(DeviceId(d)).overlap_slowdown);
    for (const plan::Stage& stage : plan_.stages) {
      out_.graph.stage_devices.emplace_back();
      for (const DeviceId d : stage.devices) out_.graph.stage_devices.back().push_back(static_cast<std::int32_t>(d.index()));
    }
  }

  std::size_t rank(std::size_t stage) const { return static_cast<std::size_t>(order_.rank_of_stage[stage]); }
  std::int64_t replicas(std::size_t rank) const { return static_cast<std::int64_t>(out_.devices[rank].size()); }
  TaskId at(std::size_t rank, std::int32_t position, std::int64_t replica) const {
    return first_[rank] + static_cast<TaskId>(position * replicas(rank) + replica);
  }

  /// Picoseconds of a task. No iteration outlasts the sum of its tasks, so the clock holds when the sum does.
  std::int64_t ticks(core::Seconds time) {
    constexpr double kClock = 9e6;  // seconds, a little below 2^63 ps
    total_ += time;
    if (!(total_.value() < kClock))
      throw core::BadInput(fmt::format("the tasks of one iteration take more than {:.0f} days together; "
                                       "the simulator's clock ends there", kClock / 86400));
    return to_picoseconds(time).value();
  }

  TaskId add_task(const Task& task) {
    if (out_.graph.tasks.size() >= std::numeric_limits<TaskId>::max())
      throw core::Error(core::ExitCode::limit, "the iteration has more than 2^31 - 1 tasks");
    constexpr std::size_t kBetweenChecks = 4096;
    if (out_.graph.tasks.size() % kBetweenChecks == 0) options_.stop.check();
    out_.graph.tasks.push_back(task);
    return static_cast<TaskId>(out_.graph.tasks.size() - 1);
  }

  // Rows.

  void add_row(std::size_t r) {
    first_.push_back(static_cast<TaskId>(out_.graph.tasks.size()));
    const RankRow& row = rows_[r];
    const auto width = static_cast<TaskId>(replicas(r));
    for (std::size_t p = 0; p < row.tasks.size(); ++p)
      for (TaskId a = 0; a < width; ++a) {
        const TaskId id = add_task(compute_task(row.tasks[p], r, static_cast<std::size_t>(a)));
        if (p + 1 < row.tasks.size()) out_.graph.tasks.back().next = id + width;
      }
  }

  Task compute_task(const RowTask& from, std::size_t rank, std::size_t replica) {
    const auto s = static_cast<std::size_t>(from.stage);
    Task task;
    task.duration = ticks(duration(from, rank, replica));
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
    StageIndex(rows_[rank(s)], static_cast<std::int32_t>(s), tasks);
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
    const bool local = out_.graph.task(f_x).place == out_.graph.task(f_y).place;
    if (boundary.bytes.value() == 0 || local) {
      edges_.add(f_x, f_y);
      edges_.add(b_y, b_x);
      return;
    }
    const std::int64_t bytes = boundary.bytes.value() * samples;
    const TaskId ahead = add_transfer(f_x, f_y, bytes, boundary.from, a.number);
    if (const auto gate = y.forward_gate[b.micro_batch]; gate >= 0) edges_.add(y.at(gate, b.replica), ahead);
    const TaskId back = add_transfer(b_y, b_x, bytes, boundary.to, b.number);
    if (const auto gate = x.backward_gate[a.micro_batch]; gate >= 0) edges_.add(x.at(gate, a.replica), back);
  }

  TaskId add_transfer(TaskId sender, TaskId receiver, std::int64_t bytes, StageId stage, std::int32_t micro_batch) {
    Task task = travelling(out_.graph.task(sender).place, out_.graph.task(receiver).place, bytes);
    task.next = receiver;
    task.stage = static_cast<std::int32_t>(stage.index());
    task.micro_batch = micro_batch;
    const TaskId id = add_task(task);
    edges_.add(sender, id);
    return id;
  }

  Task travelling(std::int32_t from, std::int32_t to, std::int64_t bytes) {
    const RouteInfo& route = route_between(from, to);
    Task task;
    task.duration = ticks(route.latency + core::Bytes(bytes) / route.bandwidth);
    task.bytes = bytes;
    task.place = route.index;
    task.kind = TaskKind::transfer;
    return task;
  }

  struct RouteInfo {
    std::int32_t index;
    core::Seconds latency;
    core::Bandwidth bandwidth;
  };

  const RouteInfo& route_between(std::int32_t from, std::int32_t to) {
    const auto found = route_index_.find({from, to});
    if (found != route_index_.end()) return found->second;
    const cluster::Route route =
        problem_.cluster.route(DeviceId(static_cast<std::size_t>(from)), DeviceId(static_cast<std::size_t>(to)));
    const RouteInfo info{static_cast<std::int32_t>(out_.graph.paths.size()), route.latency, route.bandwidth};
    out_.graph.paths.push_back(
        {from, to, {route.links.begin(), route.links.end()}, to_picoseconds(route.latency).value()});
    return route_index_.emplace(std::pair{from, to}, info).first->second;
  }

  // Updates.

  /// The reduce stream of a rank runs one all-reduce at a time.
  void add_reductions(std::size_t r) {
    std::vector<std::vector<TaskId>> before(out_.devices[r].size());  // [replica] what the stream ran last
    for (const Reduction& reduction : rows_[r].reductions) {
      std::vector<std::vector<TaskId>> ready = before;
      for (std::int64_t a = 0; a < replicas(r); ++a) ready[static_cast<std::size_t>(a)].push_back(at(r, reduction.after, a));
      before = options_.collective == Collective::closed_form ? reduce_at_once(r, reduction, ready)
                                                              : reduce_by_messages(r, reduction, ready);
      for (std::size_t a = 0; reduction.step >= 0 && a < before.size(); ++a)
        for (const TaskId last : before[a]) edges_.add(last, at(r, reduction.step, static_cast<std::int64_t>(a)));
    }
  }

  std::int64_t gradients(const Reduction& reduction) const {
    return buckets_[static_cast<std::size_t>(reduction.stage)][static_cast<std::size_t>(reduction.bucket)].gradients.value();
  }

  std::vector<std::vector<TaskId>> reduce_at_once(std::size_t r, const Reduction& reduction,
                                                  const std::vector<std::vector<TaskId>>& ready) {
    Task task;
    task.bytes = gradients(reduction);
    task.duration = ticks(cost::all_reduce(problem_.cluster, out_.devices[r]).time(core::Bytes(task.bytes)));
    task.stage = reduction.stage;
    task.kind = TaskKind::all_reduce;
    const TaskId id = add_task(task);
    std::vector<TaskId> before;
    for (const auto& tasks : ready) before.insert(before.end(), tasks.begin(), tasks.end());
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const TaskId b : before) edges_.add(b, id);
    return std::vector<std::vector<TaskId>>(ready.size(), {id});
  }

  std::vector<std::vector<TaskId>> reduce_by_messages(std::size_t r, const Reduction& reduction,
                                                      const std::vector<std::vector<TaskId>>& ready) {
    const auto& group = out_.devices[r];
    const auto messages = all_reduce_messages(options_.collective, problem_.cluster, group, gradients(reduction));
    const auto first = static_cast<TaskId>(out_.graph.tasks.size());
    std::vector<std::map<std::size_t, TaskId>> last(group.size());  // [replica] of each sender
    for (const Message& message : messages) {
      Task task = travelling(static_cast<std::int32_t>(group[message.from].index()),
                             static_cast<std::int32_t>(group[message.to].index()), message.bytes);
      task.stage = reduction.stage;
      task.kind = TaskKind::all_reduce;
      const TaskId id = add_task(task);
      for (const std::size_t m : message.after) edges_.add(first + static_cast<TaskId>(m), id);
      // A receiver takes part only when its own gradients are there.
      for (const std::size_t side : {message.from, message.to})
        if (last[side].empty())
          for (const TaskId task_before : ready[side]) edges_.add(task_before, id);
      last[message.to][message.from] = id;
    }
    std::vector<std::vector<TaskId>> done(group.size());
    for (std::size_t a = 0; a < group.size(); ++a)
      for (const auto& [sender, id] : last[a]) done[a].push_back(id);
    return done;
  }

  /// The k-th barriers of all ranks are one; a chain of edges through a task of no length.
  void add_barriers() {
    std::size_t count = 0;
    for (const RankRow& row : rows_) count = std::max(count, row.barriers.size());
    for (std::size_t k = 0; k < count; ++k) {
      Task task;
      task.duration = 0;
      task.kind = TaskKind::all_reduce;
      task.stage = 0;
      const TaskId id = add_task(task);
      for (std::size_t r = 0; r < rows_.size(); ++r) {
        if (k >= rows_[r].barriers.size()) continue;
        const std::int32_t position = rows_[r].barriers[k];
        for (std::int64_t a = 0; a < replicas(r); ++a) {
          if (position > 0) edges_.add(at(r, position - 1, a), id);
          if (position < static_cast<std::int32_t>(rows_[r].tasks.size())) edges_.add(id, at(r, position, a));
        }
      }
    }
  }

  const cost::Problem& problem_;
  const plan::Plan& plan_;
  const plan::StageGraph& stages_;
  const schedule::Grid& order_;
  const SimulationOptions& options_;
  Iteration out_;
  std::vector<std::vector<Bucket>> buckets_;  ///< [stage]
  std::vector<RankRow> rows_;
  std::vector<TaskId> first_;  ///< [rank]
  std::vector<std::vector<cost::OpTime>> times_;  ///< [stage][replica]
  core::Seconds total_;  ///< of all tasks so far
  EdgeList edges_;
  std::map<std::pair<std::int32_t, std::int32_t>, RouteInfo> route_index_;
};

}  // namespace

Iteration build_iteration(const cost::Problem& problem, const plan::Plan& plan, const plan::StageGraph& stages,
                          const schedule::Grid& order, const SimulationOptions& options) {
  return Builder(problem, plan, stages, order, options).build();
}

}  // namespace penstock::sim
