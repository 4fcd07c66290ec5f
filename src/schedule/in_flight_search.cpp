#include "penstock/schedule/in_flight_search.hpp"

#include "penstock/core/error.hpp"

namespace penstock::schedule {
namespace {

bool within(const plan::Plan& plan, const IterationTime& time, core::Picoseconds limit) {
  try {
    return time(plan) <= limit;
  } catch (const core::Error& e) {
    if (e.code() != core::ExitCode::invalid_plan) throw;
    return false;
  }
}

}  // namespace

void search_in_flight(plan::Plan& plan, const IterationTime& time) {
  for (plan::Stage& stage : plan.stages)
    if (stage.in_flight == 0) stage.in_flight = plan.training.mini_batch;
  const core::Picoseconds limit = time(plan);
  for (std::size_t s = plan.stages.size(); s-- > 0;) {
    plan::Stage& stage = plan.stages[s];
    const std::int64_t most = stage.in_flight;
    stage.in_flight = stage.micro_batch;
    // Search upwards, not by bisection: more in flight changes the order and is not always faster.
    while (stage.in_flight < most && !within(plan, time, limit)) stage.in_flight += stage.micro_batch;
  }
}

}  // namespace penstock::schedule
