#include "penstock/schedule/in_flight.hpp"

#include <algorithm>

namespace penstock::schedule {
namespace {

Pace pace(const plan::Stage& stage) { return {stage.micro_batch, stage.k}; }

std::int64_t demanded_by_successors(const plan::Plan& plan, const plan::StageGraph& stages, std::size_t s) {
  std::int64_t held = pace(plan.stages[s]).run();
  for (std::size_t b : stages.leaving(core::StageId(s))) {
    const plan::Stage& next = plan.stages[stages.boundaries()[b].to.index()];
    held = std::max(held, demanded_in_flight(pace(plan.stages[s]), next.in_flight, pace(next)));
  }
  return held;
}

}  // namespace

std::int64_t demanded_in_flight(const Pace& x, std::int64_t i_y, const Pace& y) {
  const std::int64_t own = x.run(), next = y.run();
  const std::int64_t needed = i_y + (own <= next ? next : 2 * own - next);
  return (needed + own - 1) / own * own;
}

void derive_in_flight(plan::Plan& plan, const plan::StageGraph& stages) {
  const std::int64_t mini_batch = plan.training.mini_batch;
  for (std::size_t s = plan.stages.size(); s-- > 0;) {
    if (plan.stages[s].in_flight > 0) continue;
    plan.stages[s].in_flight = plan.schedule == plan::ScheduleKind::fill_drain
                                   ? mini_batch
                                   : std::min(mini_batch, demanded_by_successors(plan, stages, s));
  }
}

}  // namespace penstock::schedule
