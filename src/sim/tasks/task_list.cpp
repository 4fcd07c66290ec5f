#include "tasks/task_list.hpp"

#include <fmt/format.h>

#include <limits>

#include "penstock/core/error.hpp"

namespace penstock::sim {
namespace {

constexpr double kSecondsPerPicosecond = 1e-12;

}  // namespace

TaskList::TaskList(const cluster::Cluster& cluster, core::StopToken stop) : cluster_(cluster), stop_(stop) {
  graph_.devices = cluster.size();
  for (const cluster::Link& link : cluster.links())
    graph_.capacity.push_back(link.bandwidth.value() * kSecondsPerPicosecond);
}

std::int64_t TaskList::ticks(core::Seconds time) {
  constexpr double kClock = 9e6;  // seconds, a little below 2^63 ps
  total_ += time;
  if (!(total_.value() < kClock))
    throw core::BadInput(
        fmt::format("the tasks of one iteration take more than {:.0f} days together; "
                    "the simulator's clock ends there",
                    kClock / 86400));
  return to_picoseconds(time).value();
}

Task TaskList::transfer(core::DeviceId from, core::DeviceId to, std::int64_t bytes) {
  const PathRates& found = way(from, to);
  Task task;
  task.duration = ticks(found.latency + core::Bytes(bytes) / found.bandwidth);
  task.bytes = bytes;
  task.place = found.path;
  task.kind = trace::TaskKind::transfer;
  return task;
}

TaskId TaskList::add(const Task& task) {
  if (graph_.tasks.size() >= static_cast<std::size_t>(std::numeric_limits<TaskId>::max()))
    throw core::Error(core::ExitCode::limit, "the iteration has more than 2^31 - 1 tasks");
  constexpr std::size_t kBetweenChecks = 4096;
  if (graph_.tasks.size() % kBetweenChecks == 0) stop_.check();
  graph_.tasks.push_back(task);
  return static_cast<TaskId>(graph_.tasks.size() - 1);
}

const TaskList::PathRates& TaskList::way(core::DeviceId from, core::DeviceId to) {
  const auto found = ways_.find({from, to});
  if (found != ways_.end()) return found->second;
  const cluster::Route route = cluster_.route(from, to);
  const PathRates made{static_cast<std::int32_t>(graph_.paths.size()), route.latency, route.bandwidth};
  graph_.paths.push_back(
      {from, to, {route.links.begin(), route.links.end()}, to_picoseconds(route.latency).value()});
  return ways_.emplace(std::pair{from, to}, made).first->second;
}

TaskGraph TaskList::freeze() {
  edges_.freeze(graph_);
  return std::move(graph_);
}

}  // namespace penstock::sim
