#include "penstock/sim/schedule_trace.hpp"

#include <doctest/doctest.h>

#include "penstock/schedule/schedule_csv.hpp"

using namespace penstock;
using trace::TaskKind;

TEST_CASE("every pass that takes time becomes a span of its kind") {
  // F0 0-1, R0 1-2, I0 2-3, W0 3-4, step 4-6.
  const auto schedule = schedule::parse_schedule("0F0,0R0,0I0,0W0,0REDUCE_GRAD,0STEP,BARRIER", "g");
  schedule::PassCosts costs;
  costs.step = 2 * schedule::kUnitStep;
  const auto trace = sim::to_trace(schedule, sim::simulate_schedule(schedule, costs), costs);
  std::vector<TaskKind> kinds;
  for (const auto& span : trace.spans) kinds.push_back(span.kind);
  CHECK(kinds == std::vector{TaskKind::forward, TaskKind::recompute, TaskKind::input_gradient,
                             TaskKind::weight_gradient, TaskKind::step});
  CHECK(trace.spans.back().end == trace.iteration);
  CHECK(trace.iteration == 6 * schedule::kUnitStep);
}

TEST_CASE("a pair becomes its forward, then its backward") {
  auto schedule = schedule::parse_schedule("1F0,(0F0;1B0)OVERLAP_F_B,0B0", "g");
  schedule.copies = 2;
  const auto trace = sim::to_trace(schedule, sim::simulate_schedule(schedule, {}), {});
  REQUIRE(trace.spans.size() == 4);
  CHECK(trace.spans[1].kind == TaskKind::forward);
  CHECK(trace.spans[1].end == 2 * schedule::kUnitStep);
  CHECK(trace.spans[2].kind == TaskKind::backward);
  CHECK(trace.spans[2].stage == core::StageId(1));
  CHECK(trace.spans[2].end == 4 * schedule::kUnitStep);
}
