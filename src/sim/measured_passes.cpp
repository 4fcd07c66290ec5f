#include "penstock/sim/measured_passes.hpp"

#include <map>
#include <tuple>

#include "engine.hpp"
#include "tasks/prepare.hpp"

namespace penstock::sim {
namespace {

using trace::TaskKind;
using MeasuredKey = std::tuple<TaskKind, core::DeviceId, core::StageId, std::int32_t>;

MeasuredKey key_of(const Task& task) {
  return {task.kind, task.device(), task.stage, task.micro_batch};
}

/// Duration of a pass in ps. One that is cut into pieces keeps their proportions.
struct PassDuration {
  std::int64_t measured = 0, simulated = 0;
  std::int64_t of(std::int64_t piece) const {
    if (piece == simulated) return measured;
    return static_cast<std::int64_t>(static_cast<double>(measured) * static_cast<double>(piece) /
                                     static_cast<double>(simulated));
  }
};

bool is_recorded(const trace::Trace& measured, core::DeviceId device) {
  return device.index() < measured.devices.size() && !measured.devices[device.index()].stages.empty();
}

/// Measured times already hold what communication and neighbours cost.
void drop_slowdowns(TaskGraph& graph, const trace::Trace& measured) {
  for (std::size_t d = 0; d < graph.overlap.size(); ++d)
    if (is_recorded(measured, core::DeviceId(d))) graph.overlap[d] = 1;
  graph.crowd = {};
}

}  // namespace

core::Picoseconds time_with_measured(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                                     const trace::Trace& measured, const std::set<TaskKind>& kinds,
                                     const SimulationOptions& options) {
  std::map<MeasuredKey, PassDuration> durations;
  for (const trace::Span& span : measured.spans)
    durations[{span.kind, span.device, span.stage, span.micro_batch}].measured =
        (span.end - span.start).value();
  const bool backward = kinds.contains(TaskKind::backward) || kinds.contains(TaskKind::input_gradient);
  IterationTasks iteration = prepare(problem, scheduled, options);
  TaskStore& tasks = iteration.graph.tasks;
  const auto replaced = [&](const Task& task) {
    return trace::computes(task.kind) && task.place >= 0 && is_recorded(measured, task.device()) &&
           (kinds.contains(task.kind) || (backward && task.kind == TaskKind::recompute));
  };
  for (std::size_t t = 0; t < tasks.size(); ++t)
    if (const Task task = tasks[t]; replaced(task)) durations[key_of(task)].simulated += task.duration;
  for (std::size_t t = 0; t < tasks.size(); ++t)
    if (const Task task = tasks[t]; replaced(task))
      tasks.set_duration(t, durations[key_of(task)].of(task.duration));
  drop_slowdowns(iteration.graph, measured);
  return time_of(scheduled.plan, iteration, options);
}

}  // namespace penstock::sim
