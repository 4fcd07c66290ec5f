#include "explain/critical_path.hpp"

#include <algorithm>
#include <span>
#include <tuple>

#include "penstock/core/error.hpp"

namespace penstock::sim {
namespace {

std::size_t index(TaskId task) {
  return static_cast<std::size_t>(task);
}

/// Reversed edges, in compressed rows.
class TaskPredecessors {
 public:
  explicit TaskPredecessors(const TaskGraph& graph) : start_(graph.tasks.size() + 1, 0) {
    for (std::size_t t = 0; t < graph.tasks.size(); ++t)
      start_[t + 1] = start_[t] + static_cast<std::uint32_t>(graph.predecessor_count[t]);
    list_.resize(start_.back());
    std::vector<std::uint32_t> filled(start_.begin(), start_.end() - 1);
    for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
      const auto add = [&](TaskId after) { list_[filled[index(after)]++] = static_cast<TaskId>(t); };
      if (graph.tasks[t].next >= 0) add(graph.tasks[t].next);
      for (auto s = graph.successor_start[t]; s < graph.successor_start[t + 1]; ++s) add(graph.successors[s]);
    }
  }
  std::span<const TaskId> of(TaskId task) const {
    return {list_.data() + start_[index(task)], list_.data() + start_[index(task) + 1]};
  }

 private:
  std::vector<std::uint32_t> start_;
  std::vector<TaskId> list_;
};

class PathWalk {
 public:
  PathWalk(const TaskGraph& graph, const TaskTimes& times)
      : graph_(graph), times_(times), before_(graph), links_(graph, times) {}

  std::vector<PathStep> run() const {
    std::vector<PathStep> out;
    for (TaskId task = last(); task >= 0;) {
      const auto [before, cause] = step_back(task);
      out.push_back({task, cause});
      task = before;
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  TaskId last() const {
    return static_cast<TaskId>(std::max_element(times_.end.begin(), times_.end.end()) - times_.end.begin());
  }

  std::pair<TaskId, StartCause> step_back(TaskId task) const {
    const std::int64_t start = times_.start[index(task)];
    const TaskId before = latest_predecessor(task);
    if (before >= 0 && times_.end[index(before)] == start) return {before, cause(before, task)};
    if (before < 0 && start == 0) return {-1, StartCause::begin};
    const TaskId holder = links_.holder(task);
    core::require(holder >= 0, "what starts late has waited for something");
    return {holder, StartCause::link};
  }

  TaskId latest_predecessor(TaskId task) const {
    TaskId best = -1;
    const auto key = [&](TaskId t) {
      return std::tuple(times_.end[index(t)], own_previous(t, task), -static_cast<std::int64_t>(t));
    };
    for (const TaskId t : before_.of(task))
      if (best < 0 || key(t) > key(best)) best = t;
    return best;
  }

  bool own_previous(TaskId before, TaskId task) const {
    const Task &a = graph_.task(before), &b = graph_.task(task);
    return trace::computes(a.kind) && trace::computes(b.kind) && a.place == b.place;
  }

  StartCause cause(TaskId before, TaskId task) const {
    const Task a = graph_.task(before);
    if (a.kind == trace::TaskKind::all_reduce && a.place < 0 && a.bytes == 0) return StartCause::barrier;
    if (own_previous(before, task)) return StartCause::device;
    const bool gate =
        graph_.task(task).kind == trace::TaskKind::transfer && a.device() != graph_.path(task).from;
    return gate ? StartCause::buffer : StartCause::data;
  }

  const TaskGraph& graph_;
  const TaskTimes& times_;
  TaskPredecessors before_;
  LinkUse links_;
};

}  // namespace

LinkUse::LinkUse(const TaskGraph& graph, const TaskTimes& times)
    : graph_(graph), times_(times), by_start_(graph.capacity.size()) {
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    if (!graph.tasks[t].travels()) continue;
    const TransferPath& path = graph.path(static_cast<TaskId>(t));
    for (const std::uint32_t link : path.links)
      by_start_[link].push_back({times.start[t], times.end[t], 0, static_cast<TaskId>(t)});
  }
  for (auto& uses : by_start_) {
    std::sort(uses.begin(), uses.end(), [](const LinkOccupancy& a, const LinkOccupancy& b) {
      return std::tie(a.start, a.task) < std::tie(b.start, b.task);
    });
    std::int64_t latest = 0;
    for (LinkOccupancy& use : uses) use.latest = latest = std::max(latest, use.end);
  }
}

/// The transfer that held the link until now began earlier: transfers of no length do not count.
TaskId LinkUse::holder(TaskId waiting) const {
  if (!graph_.task(waiting).travels()) return -1;
  const std::int64_t now = times_.start[index(waiting)];
  for (const std::uint32_t link : graph_.path(waiting).links) {
    const auto& uses = by_start_[link];
    auto use =
        std::partition_point(uses.begin(), uses.end(), [&](const LinkOccupancy& u) { return u.start < now; });
    while (use != uses.begin() && (--use)->latest >= now)
      if (use->end == now) return use->task;
  }
  return -1;
}

double LinkUse::load(std::uint32_t link, std::int64_t start, std::int64_t end) const {
  const auto& uses = by_start_[link];
  auto use =
      std::partition_point(uses.begin(), uses.end(), [&](const LinkOccupancy& u) { return u.start < end; });
  double bytes = 0;
  while (use != uses.begin() && (--use)->latest > start) {
    const std::int64_t flows = use->start + graph_.path(use->task).latency;
    const std::int64_t shared = std::min(end, use->end) - std::max(start, flows);
    if (shared > 0)
      bytes += static_cast<double>(graph_.task(use->task).bytes) * static_cast<double>(shared) /
               static_cast<double>(use->end - flows);
  }
  return bytes / graph_.capacity[link];
}

std::uint32_t LinkUse::fullest(TaskId transfer) const {
  const TransferPath& path = graph_.path(transfer);
  const std::int64_t start = times_.start[index(transfer)] + path.latency, end = times_.end[index(transfer)];
  const auto key = [&](std::uint32_t link) {
    return std::pair(-load(link, start, end), graph_.capacity[link]);
  };
  return *std::min_element(path.links.begin(), path.links.end(),
                           [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
}

std::vector<PathStep> critical_path(const TaskGraph& graph, const TaskTimes& times) {
  return PathWalk(graph, times).run();
}

}  // namespace penstock::sim
