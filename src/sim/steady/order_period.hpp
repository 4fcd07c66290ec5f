#pragma once
// The part of an order that repeats, and orders with fewer repetitions of it.

#include <optional>
#include <vector>

#include "penstock/schedule/scheduled_plan.hpp"

namespace penstock::sim {

/// In a period every rank runs as many actions as in the period before, with later micro-batches.
struct OrderPeriod {
  /// Actions [begin, begin + count * length) of a rank are `count` periods.
  struct RepeatedActions {
    std::size_t begin = 0, length = 0;
    std::int64_t count = 0;
  };
  std::vector<RepeatedActions> ranks;
  std::vector<std::int32_t> shift;  ///< [stage] micro-batches per period
  std::int64_t samples = 0;         ///< per period
  std::int64_t count = 0;           ///< least number of periods in a rank
};

/// Returns the shortest period around the middle of the rows; none if there is none. Takes one pass over the
/// order.
std::optional<OrderPeriod> order_period(const plan::Plan& plan, const schedule::Schedule& order);

/// Returns the plan with a mini-batch that is `cut` periods shorter. `cut` must be below period.count.
schedule::ScheduledPlan without_periods(const graph::OpGraph& graph, const schedule::ScheduledPlan& scheduled,
                                        const OrderPeriod& period, std::int64_t cut);

}  // namespace penstock::sim
