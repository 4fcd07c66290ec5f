#include "build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "penstock/core/error.hpp"
#include "penstock/cost/communication.hpp"

namespace penstock::sim {
namespace {

using core::DeviceId;
using core::StageId;
using schedule::Phase;
using trace::TaskKind;

constexpr double kSecondsPerPicosecond = 1e-12;

StageTasks index_order(const plan::Plan& plan, const plan::Stage& stage, const std::vector<schedule::Task>& order) {
  StageTasks out;
  out.replicas = static_cast<std::int32_t>(stage.devices.size());
  out.micro_batch = stage.micro_batch;
  const auto count = static_cast<std::size_t>(plan.training.mini_batch / stage.micro_batch);
  out.forward_position.resize(count);
  out.backward_position.resize(count);
  std::int32_t live = 0;
  for (std::size_t p = 0; p < order.size(); ++p) {
    auto& positions = order[p].phase == Phase::forward ? out.forward_position : out.backward_position;
    positions[static_cast<std::size_t>(order[p].micro_batch)] = static_cast<std::int32_t>(p);
    live += order[p].phase == Phase::forward ? 1 : -1;
    out.most_live = std::max(out.most_live, live);
  }
  return out;
}

class Builder {
 public:
  Builder(const cost::Problem& problem, const plan::Plan& plan, const plan::StageGraph& stages,
          const schedule::TaskOrder& order)
      : problem_(problem), plan_(plan), stages_(stages), order_(order) {}

  Iteration build() {
    for (const cluster::Link& link : problem_.cluster.links())
      out_.graph.capacity.push_back(link.bandwidth.value() * kSecondsPerPicosecond);
    out_.graph.stage_of_device.assign(problem_.cluster.size(), -1);
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) add_compute(s);
    for (const plan::Boundary& boundary : stages_.boundaries()) add_boundary(boundary);
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) add_all_reduce(s);
    edges_.freeze(out_.graph);
    return std::move(out_);
  }

 private:
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
    out_.graph.tasks.push_back(task);
    return static_cast<TaskId>(out_.graph.tasks.size() - 1);
  }

  void add_compute(std::size_t s) {
    const plan::Stage& stage = plan_.stages[s];
    StageTasks tasks = index_order(plan_, stage, order_[s]);
    tasks.first = static_cast<TaskId>(out_.graph.tasks.size());
    std::vector<cost::ComputeTime> times;
    for (std::int32_t r = 0; r < tasks.replicas; ++r)
      times.push_back(cost::compute_time(problem_, stage.operators,
                                         problem_.cluster.type(stage.devices[static_cast<std::size_t>(r)]),
                                         std::max<std::int64_t>(1, tasks.share(r))));
    for (DeviceId device : stage.devices) out_.graph.stage_of_device[device.index()] = static_cast<std::int32_t>(s);
    for (std::size_t p = 0; p < order_[s].size(); ++p)
      for (std::int32_t r = 0; r < tasks.replicas; ++r) {
        const auto& time = times[static_cast<std::size_t>(r)];
        const bool forward = order_[s][p].phase == Phase::forward;
        Task task;
        task.duration = ticks(forward ? time.forward : time.backward);
        task.micro_batch = order_[s][p].micro_batch;
        task.place = static_cast<std::int32_t>(stage.devices[static_cast<std::size_t>(r)].index());
        task.kind = forward ? TaskKind::forward : TaskKind::backward;
        const TaskId id = add_task(task);
        if (p + 1 < order_[s].size()) out_.graph.tasks.back().next = id + tasks.replicas;
      }
    out_.stages.push_back(std::move(tasks));
  }

  /// Both partitions of the mini-batch into replica shares are walked side by side; each overlap is a message.
  void add_boundary(const plan::Boundary& boundary) {
    const StageTasks &x = out_.stages[boundary.from.index()], &y = out_.stages[boundary.to.index()];
    struct Cursor {
      const StageTasks& stage;
      std::int64_t slice = 0;
      std::int64_t micro_batch() const { return slice / stage.replicas; }
      std::int64_t replica() const { return slice % stage.replicas; }
      std::int64_t end() const { return micro_batch() * stage.micro_batch + stage.share_start(replica() + 1); }
    } from{x}, to{y};
    for (std::int64_t sample = 0; sample < plan_.training.mini_batch;) {
      const std::int64_t end = std::min(from.end(), to.end());
      if (end > sample) {
        add_messages(boundary, x, from.micro_batch(), from.replica(), y, to.micro_batch(), to.replica(), end - sample);
        sample = end;
      }
      if (from.end() == end) ++from.slice;
      if (to.slice < y.replicas * (plan_.training.mini_batch / y.micro_batch) && to.end() == end) ++to.slice;
    }
  }

  void add_messages(const plan::Boundary& boundary, const StageTasks& x, std::int64_t k, std::int64_t a,
                    const StageTasks& y, std::int64_t j, std::int64_t b, std::int64_t samples) {
    const TaskId f_x = x.forward(k, a), f_y = y.forward(j, b), b_x = x.backward(k, a), b_y = y.backward(j, b);
    if (boundary.bytes.value() == 0) {
      edges_.add(f_x, f_y);
      edges_.add(b_y, b_x);
      return;
    }
    const std::int64_t bytes = boundary.bytes.value() * samples;
    const TaskId ahead = add_transfer(f_x, f_y, bytes);
    if (const std::int64_t gate = j - y.most_live - 1; gate >= 0) edges_.add(y.backward(gate, b), ahead);
    const TaskId back = add_transfer(b_y, b_x, bytes);
    if (k >= 2) edges_.add(x.backward(k - 2, a), back);
  }

  TaskId add_transfer(TaskId sender, TaskId receiver, std::int64_t bytes) {
    const Task& source = out_.graph.task(sender);
    const RouteInfo& route = route_between(source.place, out_.graph.task(receiver).place);
    Task task;
    task.duration = ticks(route.latency + core::Bytes(bytes) / route.bandwidth);
    task.bytes = bytes;
    task.next = receiver;
    task.place = route.index;
    task.micro_batch = source.micro_batch;
    task.kind = TaskKind::transfer;
    const TaskId id = add_task(task);
    edges_.add(sender, id);
    return id;
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

  void add_all_reduce(std::size_t s) {
    const plan::Stage& stage = plan_.stages[s];
    const core::Bytes gradients = cost::stage_load(problem_.graph, stage.operators).parameters;
    if (stage.devices.size() < 2 || gradients.value() == 0) return;
    Task task;
    task.duration = ticks(cost::all_reduce(problem_.cluster, stage.devices).time(gradients));
    task.bytes = gradients.value();
    task.place = static_cast<std::int32_t>(s);
    task.kind = TaskKind::all_reduce;
    const TaskId id = add_task(task);
    const StageTasks& tasks = out_.stages[s];
    const auto last = static_cast<TaskId>(order_[s].size() - 1) * tasks.replicas + tasks.first;
    for (std::int32_t r = 0; r < tasks.replicas; ++r) edges_.add(last + r, id);
  }

  const cost::Problem& problem_;
  const plan::Plan& plan_;
  const plan::StageGraph& stages_;
  const schedule::TaskOrder& order_;
  Iteration out_;
  core::Seconds total_;  ///< of all tasks so far
  EdgeList edges_;
  std::map<std::pair<std::int32_t, std::int32_t>, RouteInfo> route_index_;
};

}  // namespace

Iteration build_iteration(const cost::Problem& problem, const plan::Plan& plan, const plan::StageGraph& stages,
                          const schedule::TaskOrder& order) {
  return Builder(problem, plan, stages, order).build();
}

}  // namespace penstock::sim
