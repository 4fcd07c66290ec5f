#include "penstock/score/order.hpp"

#include <algorithm>
#include <memory>

#include "penstock/cost/sharding.hpp"
#include "penstock/cost/stage_memo.hpp"
#include "penstock/plan/colocated.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/list_order.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/plan_pipeline.hpp"

namespace penstock::score {
namespace {

constexpr const char* kListOrder = "list_order";

/// Returns the best rule. Cached, because a search needs it twice: for the memory of a plan, then for its
/// order.
schedule::ListRule best_rule(const cost::Problem& problem, const schedule::Pipeline& pipeline) {
  cost::StageKey key("list rule");
  key.add(pipeline.micro_batches).add(static_cast<std::int64_t>(pipeline.stages.size()));
  const auto add = [&](auto... times) { (key.add(times.value()), ...); };
  for (const auto& [forward, backward, room, after, early] : pipeline.stages)
    add(forward, backward, after), key.add(room);
  for (const auto& [from, to, forward, backward, forward_latency, backward_latency] : pipeline.links) {
    key.add(from).add(to);
    add(forward, backward, forward_latency, backward_latency);
  }
  return *cost::StageMemo::recall(problem, key, [&] { return schedule::list_order(pipeline).rule; });
}

schedule::Schedule listed(const cost::Problem& problem, const plan::Plan& plan) {
  plan::refuse_colocated(plan, kListOrder);
  schedule::demand_own_devices(plan);
  const schedule::Pipeline pipeline = pipeline_of(problem, plan);
  const auto order = schedule::order_by(best_rule(problem, pipeline), pipeline);
  schedule::Schedule made{{}, plan::rank_of_stage(plan)};
  for (std::int32_t s = 0; s < made.stages(); ++s)
    made.ranks.push_back(schedule::rank_order(s, order[static_cast<std::size_t>(s)]));
  return schedule::with_updates(plan, std::move(made));
}

/// Mean costs of one stage, on the first of its replicas.
schedule::PassCosts mean_costs(const cost::Problem& problem, const plan::Plan& plan) {
  cost::OpTime sum;
  double stages = 0;
  for (const plan::Stage& stage : plan.stages) {
    if (stage.part) continue;  // runs before and after those that are ordered
    ++stages;
    const auto time =
        cost::stage_time(problem, stage, stage.operators, 0, plan::samples_per_device(plan, stage)).total();
    sum.forward += time.forward;
    sum.input_gradient += time.input_gradient;
    sum.weight_gradient += time.weight_gradient;
  }
  const auto mean = [&](core::Seconds time) { return core::to_picoseconds(time / stages); };
  schedule::PassCosts costs;
  costs.forward = mean(sum.forward);
  costs.input_gradient = mean(sum.input_gradient);
  costs.weight_gradient = mean(sum.weight_gradient);
  return costs;
}

/// Returns a schedule from the cache. A search needs it several times: for the memory of a plan, then for its
/// order. Plans with other stage boundaries share it, unless it depends on pass times.
std::shared_ptr<const schedule::Schedule> remembered(const cost::Problem& problem, const std::string& family,
                                                     const schedule::ScheduleShape& shape) {
  cost::StageKey key("schedule");
  key.add(static_cast<std::int64_t>(family.size()));
  for (const char letter : family) key.add(letter);
  key.add(shape.ranks).add(shape.chunks).add(shape.micro_batches);
  for (const core::Picoseconds time :
       {shape.costs.forward, shape.costs.input_gradient, shape.costs.weight_gradient})
    key.add(time.value());
  return cost::StageMemo::recall(problem, key, [&] { return schedule::make_schedule(family, shape); });
}

}  // namespace

schedule::Schedule order_of(const cost::Problem& problem, const plan::Plan& plan) {
  if (plan.schedule == kListOrder) return listed(problem, plan);
  return schedule::plan_order(
      plan, schedule::by_cost(plan) ? mean_costs(problem, plan) : schedule::PassCosts{},
      [&](const auto& family, const auto& shape) { return remembered(problem, family, shape); });
}

schedule::ScheduledPlan scheduled(const cost::Problem& problem, plan::Plan plan) {
  auto order = order_of(problem, plan);
  return {problem.graph, std::move(plan), std::move(order)};
}

void derive_in_flight(const cost::Problem& problem, plan::Plan& plan) {
  if (schedule::per_stage(plan))
    return schedule::derive_in_flight(plan, plan::StageGraph(problem.graph, plan));
  const auto held = schedule::most_held(order_of(problem, plan));
  for (std::size_t s = 0; s < held.size(); ++s)
    if (plan.stages[s].in_flight == 0) plan.stages[s].in_flight = held[s] * plan.stages[s].micro_batch;
}

}  // namespace penstock::score
