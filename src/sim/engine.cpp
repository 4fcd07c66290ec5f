#include "engine.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "explain/stuck.hpp"
#include "least_left.hpp"
#include "overlap.hpp"

namespace penstock::sim {
namespace {

class EventEngine {
 public:
  EventEngine(const TaskGraph& graph, NetworkModel network, bool record, core::StopToken stop)
      : graph_(graph),
        stop_(stop),
        waiting_(graph.predecessor_count),
        record_(graph.tasks.size(), record),
        network_(make_network(network, graph, agenda_, record_)),
        overlap_(graph, agenda_) {
    if (overlap_.listens())
      record_.watch([this](TaskId id, std::int64_t now, int change) {
        if (!trace::computes(graph_.task(id).kind)) overlap_.communicate(id, now, change);
      });
  }

  TaskTimes run() {
    std::size_t done = 0;
    for (std::size_t t = 0; t < waiting_.size(); ++t)
      if (waiting_[t] == 0) ready(static_cast<TaskId>(t), 0);
    network_->settle(0);
    while (!agenda_.empty() && !beaten_) {
      const TaskEvent event = agenda_.top();
      agenda_.pop();
      if (handle(event) && ++done % kBetweenChecks == 0) stop_.check();
      if (agenda_.empty() || agenda_.top().time > event.time) network_->settle(event.time);
    }
    if (done != graph_.tasks.size() && !beaten_) {
      network_->report_stalled();
      report_deadlock(graph_, waiting_);
    }
    return record_.take();
  }

  /// `least_left`: [task] lower bound (least_left.hpp); empty if unknown.
  std::int64_t run_against(std::int64_t to_beat, std::vector<std::int64_t> least_left) {
    to_beat_ = to_beat;
    least_left_ = std::move(least_left);
    const TaskTimes times = run();
    return beaten_.value_or(times.makespan);
  }

 private:
  void ready(TaskId id, std::int64_t now) {
    const Task task = graph_.task(id);
    if (!least_left_.empty())
      if (const std::int64_t end = now + least_left_[static_cast<std::size_t>(id)]; end > to_beat_)
        beaten_ = end;
    if (task.travels()) return network_->request(id, now);
    record_.start(id, now);
    if (overlap_.matters() && trace::computes(task.kind)) return overlap_.compute(id, now);
    agenda_.post(id, end_of(task, now));
  }

  std::int64_t end_of(const Task& task, std::int64_t now) const {
    if (graph_.speed.empty() || !trace::computes(task.kind)) return now + task.duration;
    return graph_.speed[static_cast<std::size_t>(task.place)].finish(now, task.duration);
  }

  /// Handles an event; returns true if the task has ended.
  bool handle(const TaskEvent& event) {
    if (event.task < 0) return network_->due(event.task, event.time);
    const Task task = graph_.task(event.task);
    if (task.travels() && !network_->due(event.task, event.time)) return false;
    if (overlap_.matters() && trace::computes(task.kind) && !overlap_.due(event.task, event.time))
      return false;
    record_.end(event.task, event.time);
    if (task.next >= 0) release(task.next, event.time);
    const auto t = static_cast<std::size_t>(event.task);
    for (auto s = graph_.successor_start[t]; s < graph_.successor_start[t + 1]; ++s)
      release(graph_.successors[s], event.time);
    return true;
  }

  void release(TaskId id, std::int64_t now) {
    if (--waiting_[static_cast<std::size_t>(id)] == 0) ready(id, now);
  }

  static constexpr std::size_t kBetweenChecks = 4096;
  const TaskGraph& graph_;
  core::StopToken stop_;
  std::vector<std::int32_t> waiting_;
  std::int64_t to_beat_ = 0;
  std::optional<std::int64_t> beaten_;    ///< lower bound on the makespan, above to_beat_
  std::vector<std::int64_t> least_left_;  ///< empty: not needed, or unknown
  EventAgenda agenda_;
  TaskRecorder record_;
  std::unique_ptr<TransferNetwork> network_;
  OverlapSlowdown overlap_;
};

}  // namespace

TaskTimes run(const TaskGraph& graph, NetworkModel network, bool record, core::StopToken stop) {
  return EventEngine(graph, network, record, stop).run();
}

std::int64_t makespan_against(const TaskGraph& graph, NetworkModel network, std::int64_t to_beat,
                              core::StopToken stop) {
  std::vector<std::int64_t> left = least_left(graph);
  // Without congestion a plan takes as long as its longest path; if that is too long, no run is needed.
  const std::int64_t least = left.empty() ? 0 : *std::ranges::max_element(left);
  if (least > to_beat) return least;
  return EventEngine(graph, network, false, stop).run_against(to_beat, std::move(left));
}

}  // namespace penstock::sim
