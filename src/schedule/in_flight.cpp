#include "penstock/schedule/in_flight.hpp"

#include <algorithm>
#include <vector>

#include "penstock/plan/colocated.hpp"
#include "penstock/schedule/plan_order.hpp"

namespace penstock::schedule {
namespace {

StagePace pace(const plan::Stage& stage) {
  return {stage.micro_batch, stage.k};
}

/// Number of replicas whose results a stage's backward pass waits for, including its own.
std::int64_t replicas_downstream(const plan::Plan& plan, const plan::StageGraph& stages, std::size_t s) {
  std::vector<bool> below(plan.stages.size());
  below[s] = true;
  std::int64_t replicas = 0;
  for (std::size_t t = s; t < below.size(); ++t) {
    if (!below[t]) continue;
    replicas += plan.stages[t].replicas();
    for (std::size_t b : stages.outgoing(core::StageId(t))) below[stages.boundaries()[b].to.index()] = true;
  }
  return replicas;
}

std::int64_t demanded_by_successors(const plan::Plan& plan, const plan::StageGraph& stages, std::size_t s,
                                    InFlight rule) {
  std::int64_t held = pace(plan.stages[s]).run();
  for (std::size_t b : stages.outgoing(core::StageId(s))) {
    const plan::Stage& next = plan.stages[stages.boundaries()[b].to.index()];
    held = std::max(held, demanded_in_flight(pace(plan.stages[s]), next.in_flight, pace(next), rule));
  }
  return held;
}

/// In-flight count if replicas take turns: one micro-batch per replica from here on, divided by the stage's
/// own replicas.
std::int64_t in_turn(const plan::Plan& plan, const plan::StageGraph& stages, std::size_t s) {
  const std::int64_t replicas = plan.stages[s].replicas();
  const std::int64_t held = (replicas_downstream(plan, stages, s) + replicas - 1) / replicas;
  return held * plan.stages[s].micro_batch;
}

void as_ordered(plan::Plan& plan) {
  const auto held = most_held(plan_order(plan));
  for (std::size_t s = 0; s < held.size(); ++s)
    if (plan.stages[s].in_flight == 0) plan.stages[s].in_flight = held[s] * plan.stages[s].micro_batch;
}

}  // namespace

std::int64_t demanded_in_flight(const StagePace& x, std::int64_t i_y, const StagePace& y) {
  const std::int64_t own = x.run(), next = y.run();
  const std::int64_t needed = i_y + (own <= next ? next : 2 * own - next);
  return (needed + own - 1) / own * own;
}

std::int64_t demanded_in_flight(const StagePace& x, std::int64_t i_y, const StagePace& y, InFlight rule) {
  const std::int64_t held = demanded_in_flight(x, i_y, y);
  return rule == InFlight::depth ? held : demanded_in_flight(x, held, x);
}

void derive_in_flight(plan::Plan& plan, const plan::StageGraph& stages, InFlight rule) {
  if (!per_stage(plan)) return as_ordered(plan);
  const std::int64_t mini_batch = plan.training.mini_batch;
  const std::size_t behind = plan::behind_pipeline(plan);
  for (std::size_t s = plan.stages.size(); s-- > 0;) {
    plan::Stage& stage = plan.stages[s];
    if (stage.in_flight > 0) continue;
    if (s >= behind)
      stage.in_flight = stage.micro_batch;
    else if (plan.schedule == "gpipe" || stage.part)
      stage.in_flight = mini_batch;
    else if (plan::asynchronous(plan))
      stage.in_flight = in_turn(plan, stages, s);
    else
      stage.in_flight = std::min(mini_batch, demanded_by_successors(plan, stages, s, rule));
  }
}

}  // namespace penstock::schedule
