#include "support/judged_plan.hpp"

#include <doctest/doctest.h>

#include "penstock/check/trace_violations.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/utilisation.hpp"
#include "penstock/score/least_iteration.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/problem_bound.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/sim/waterfall.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

namespace penstock::support {
namespace {

/// Parts of device time, none below zero, sum to the iteration; the first one's share is the MFU.
void check_waterfall(const cost::Problem& problem, const plan::Plan& plan, const trace::Trace& trace,
                     const sim::SimulationOptions& options) {
  const auto waterfall = sim::waterfall(problem, plan, trace::TraceByDevice(trace), options);
  core::Picoseconds sum;
  bool none_below = true;
  for (const core::Picoseconds part : waterfall.time) {
    none_below = none_below && part >= core::Picoseconds(0);
    sum += part;
  }
  CHECK(none_below);
  CHECK(sum == trace.iteration);
  const double rate = static_cast<double>(trace.mini_batch) / to_seconds(trace.iteration).value();
  CHECK(waterfall.share(sim::TimePart::model) ==
        near(cost::utilisation(problem.graph, problem.cluster, rate).mfu, 1e-6));
}

}  // namespace

cost::OpTime FlopCosts::op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType&,
                                std::int64_t samples) const {
  const auto time = [&](core::Flops flops) {
    return core::Seconds(flops.value() / 1e9 * static_cast<double>(samples));
  };
  const graph::Operator& known = graph.op(op);
  return {time(known.forward_flops), time(known.input_gradient_flops), time(known.weight_gradient_flops)};
}

plan::Stage stage_of(std::size_t first, std::size_t last, std::size_t devices, std::int64_t micro_batch) {
  plan::Stage out;
  for (std::size_t v = first; v < last; ++v) out.operators.emplace_back(v);
  for (std::size_t d = 0; d < devices; ++d) out.devices.emplace_back(d);
  out.micro_batch = micro_batch;
  return out;
}

void judge_somewhere(const graph::OpGraph& graph, plan::Plan plan, std::size_t devices,
                     core::Random& random) {
  static const FlopCosts kFlops;
  static const cost::AnalyticCosts kAnalytic;
  const auto cluster = tiny_cluster(devices, std::int64_t{1} << 40, random.chance(0.5) ? 1e9 : 1e6,
                                    random.chance(0.5) ? 0 : 1e-5);
  const cost::CostModel& costs = random.chance(0.5) ? static_cast<const cost::CostModel&>(kFlops) : kAnalytic;
  const cost::Problem problem{graph, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  const auto violations = score::violations(problem, plan);
  for (const auto& violation : violations) INFO(violation);
  REQUIRE(violations.empty());
  const auto scheduled = score::scheduled(problem, plan);
  sim::SimulationOptions options;
  const auto& names = sim::collective_names();
  options.collective =
      sim::collective(names[static_cast<std::size_t>(random.between(0, static_cast<int>(names.size()) - 1))]);
  for (const auto collectives : {sim::PassCollectives::closed_form, sim::PassCollectives::links}) {
    options.pass_collectives = collectives;
    INFO("pass collectives: ", name(collectives));
    const auto trace = sim::simulate(problem, scheduled, options);
    for (const auto& violation : check::trace_violations(problem, scheduled, trace, options))
      FAIL_CHECK(violation);
    check_waterfall(problem, plan, trace, options);
    const core::Seconds took = to_seconds(trace.iteration);
    if (collectives == sim::PassCollectives::closed_form)
      CHECK(score::least_iteration(problem, plan) <= took);
    CHECK(score::bound_for(problem, plan, score::ReductionTiming::free).time <= took);
  }
}

}  // namespace penstock::support
