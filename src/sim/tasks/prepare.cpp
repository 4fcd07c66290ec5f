#include "tasks/prepare.hpp"

#include <algorithm>

#include "alike_copies.hpp"
#include "alike_lanes.hpp"
#include "engine.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "tasks/apply.hpp"
#include "tasks/crowding.hpp"

namespace penstock::sim {
namespace {

using core::Picoseconds;

std::int64_t per_iteration(const plan::Plan& plan, const StageTasks& stage) {
  return plan.training.mini_batch / stage.sharing.round();
}

/// Time at which the first `count` mini-batches have passed all stages.
std::int64_t end_of(std::int64_t count, const plan::Plan& plan, const IterationTasks& iteration,
                    const TaskTimes& times) {
  std::int64_t end = 0;
  for (const StageTasks& stage : iteration.stages)
    for (std::int64_t m = 0; m < count * per_iteration(plan, stage); ++m)
      for (TaskId d = 0; d < stage.devices(); ++d) {
        const TaskId task = stage.release[static_cast<std::size_t>(m)] + d;
        end = std::max(end, times.end[static_cast<std::size_t>(task)]);
      }
  return end;
}

}  // namespace

IterationTasks prepare(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                       const SimulationOptions& options, std::shared_ptr<FilledTimes> filled) {
  if (filled == nullptr) filled = filled_times(problem, scheduled.plan, options);
  IterationTasks iteration = build_iteration(problem, scheduled, options, filled.get());
  if (options.crowding) add_crowding(problem, scheduled.plan, iteration);
  if (options.perturbation) apply(*options.perturbation, options.seed, iteration.graph);
  return iteration;
}

AbridgedPlan abridged(const cost::Problem& problem, const schedule::ScheduledPlan& scheduled,
                      const SimulationOptions& options) {
  const auto copy = one_copy(problem, scheduled.plan, options);
  const plan::Plan& whole = copy && copy->whole ? *copy->whole : scheduled.plan;
  const plan::Plan& replicas = copy ? copy->plan : scheduled.plan;
  const auto lane = one_lane(problem, scheduled.stages, replicas, options);
  if (!copy && !lane) return {scheduled.plan, prepare(problem, scheduled, options)};
  const plan::Plan& run = lane ? *lane : replicas;
  if (!copy || !copy->whole) return {run, build_iteration(problem, scheduled, options, nullptr, &run)};
  return {run, build_iteration(problem, {problem.graph, whole, scheduled.order}, options, nullptr, &run)};
}

std::int64_t mini_batches(const plan::Plan& plan, const IterationTasks& iteration) {
  const StageTasks& stage = iteration.stages.front();
  return static_cast<std::int64_t>(stage.forward.size()) / per_iteration(plan, stage);
}

Picoseconds iteration_time(const plan::Plan& plan, const IterationTasks& iteration, const TaskTimes& times) {
  if (mini_batches(plan, iteration) == 1) return Picoseconds(times.makespan);
  const auto [begin, end] = schedule::steady_part(plan);
  return Picoseconds((end_of(end, plan, iteration, times) - end_of(begin, plan, iteration, times)) /
                     (end - begin));
}

Picoseconds time_of(const plan::Plan& plan, const IterationTasks& iteration,
                    const SimulationOptions& options) {
  const bool one = mini_batches(plan, iteration) == 1;
  return iteration_time(plan, iteration, run(iteration.graph, options.network, !one, options.stop));
}

Picoseconds time_against(const plan::Plan& plan, const IterationTasks& iteration,
                         const SimulationOptions& options, Picoseconds to_beat) {
  if (mini_batches(plan, iteration) > 1) return time_of(plan, iteration, options);
  return Picoseconds(makespan_against(iteration.graph, options.network, to_beat.value(), options.stop));
}

}  // namespace penstock::sim
