#include "explain/stuck.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"

namespace penstock::sim {
namespace {

using trace::TaskKind;

/// [task] for every waiting task, a waiting task that it waits for; -1: none.
std::vector<TaskId> waits_for(const TaskGraph& graph, const std::vector<std::int32_t>& waiting) {
  std::vector<TaskId> out(graph.tasks.size(), -1);
  const auto add = [&](std::size_t before, TaskId after) {
    if (after >= 0 && out[static_cast<std::size_t>(after)] < 0)
      out[static_cast<std::size_t>(after)] = static_cast<TaskId>(before);
  };
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    if (waiting[t] == 0) continue;
    add(t, graph.tasks[t].next);
    for (auto s = graph.successor_start[t]; s < graph.successor_start[t + 1]; ++s)
      add(t, graph.successors[s]);
  }
  return out;
}

/// Returns a circle, from its first task on; empty if there is none.
std::vector<TaskId> find_circle(const std::vector<TaskId>& waits_for) {
  const auto begin = std::find_if(waits_for.begin(), waits_for.end(), [](TaskId t) { return t >= 0; });
  std::vector<bool> seen(waits_for.size(), false);
  std::vector<TaskId> walk;
  for (auto t = static_cast<TaskId>(begin - waits_for.begin());
       begin != waits_for.end() && t >= 0 && !seen[static_cast<std::size_t>(t)];
       t = waits_for[static_cast<std::size_t>(t)]) {
    seen[static_cast<std::size_t>(t)] = true;
    walk.push_back(t);
  }
  if (walk.empty()) return {};
  walk.erase(walk.begin(),
             std::find(walk.begin(), walk.end(), waits_for[static_cast<std::size_t>(walk.back())]));
  std::rotate(walk.begin(), std::min_element(walk.begin(), walk.end()), walk.end());
  return walk;
}

}  // namespace

std::string in_words(const TaskGraph& graph, TaskId id) {
  const Task task = graph.task(id);
  if (task.kind == TaskKind::all_reduce) return fmt::format("the all-reduce of stage {}", task.stage.index());
  if (task.travels())
    return fmt::format("the transfer of micro-batch {} from device {} to device {}", task.micro_batch,
                       graph.path(id).from.index(), graph.path(id).to.index());
  return fmt::format("the {} pass of micro-batch {} on stage {} (device {})", trace::name(task.kind),
                     task.micro_batch, task.stage.index(), task.place);
}

void report_dead_link(const TaskGraph& graph, TaskId transfer) {
  const auto& links = graph.path(transfer).links;
  for (const std::uint32_t link : links) {
    const auto last = std::find_if(graph.changes.rbegin(), graph.changes.rend(),
                                   [&](const CapacityChange& change) { return change.link == link; });
    if (last == graph.changes.rend() || last->capacity > 0) continue;
    throw core::BadInput(
        last->place, fmt::format("{} is down from {} on and never restored, but {} waits for it", last->name,
                                 show(to_seconds(core::Picoseconds(last->time))), in_words(graph, transfer)));
  }
  throw core::Error(core::ExitCode::internal, "a transfer waits for no link");
}

void report_deadlock(const TaskGraph& graph, const std::vector<std::int32_t>& waiting) {
  constexpr std::size_t kLines = 12;
  const std::vector<TaskId> circle = find_circle(waits_for(graph, waiting));
  if (circle.empty()) throw core::Error(core::ExitCode::internal, "a task waits for nothing");
  std::string message =
      "the schedule deadlocks: each of these waits for the next, and the last for the first";
  const std::size_t shown = circle.size() <= kLines ? circle.size() : kLines - 1;
  for (std::size_t i = 0; i < shown; ++i) message += "\n  " + in_words(graph, circle[i]);
  if (shown < circle.size()) message += fmt::format("\n  and {} more", circle.size() - shown);
  throw core::Error(core::ExitCode::invalid_plan, message);
}

}  // namespace penstock::sim
