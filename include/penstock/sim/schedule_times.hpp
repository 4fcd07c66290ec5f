#pragma once
// Times of a schedule on equal stages, without a model or a cluster.

#include <vector>

#include "penstock/schedule/pass_costs.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::sim {

struct TimeInterval {
  core::Picoseconds start, end;
};

struct ScheduleTimes {
  core::Picoseconds makespan;           ///< from the first start to the last end
  core::Picoseconds longest_rank_span;  ///< maximum over ranks of the time from first start to last end
  double bubble_rate = 0;               ///< share of that span beyond the work of the busiest rank
  std::vector<core::Picoseconds> idle;  ///< [rank] idle time within its own span
  /// [rank] maximum number of forwards, in stages, whose B or W is not done. A recomputed micro-batch keeps
  /// only its stage's input and counts from its R on. An evicted one counts on the partner rank from EVICT to
  /// LOAD.
  std::vector<int> peak_live;
  std::vector<std::vector<TimeInterval>>
      times;  ///< [rank][position] interval of every action; messages take no time
};

/// Runs ranks strictly in order. Results arrive on another rank `delay` after their end, and immediately on
/// the same rank. Messages never block the sender; a receive waits for its message. An overlapped pair takes
/// F + B. With a delay C, the in-order rule costs 1F1B C (2(p-1)(m/p + 1) - 2) more than without, as in the
/// Zero Bubble paper (Qi et al., ICLR 2024, Table 5). EVICT and LOAD do not occupy a rank: a load begins when
/// its rank reaches it, `delay` after its evict at the earliest, and takes `delay`. A barrier takes no time.
/// Preconditions: no schedule_violations, costs at most 10^6 s. Throws BadInput if the total exceeds 4 * 10^6
/// s.
ScheduleTimes simulate_schedule(const schedule::Schedule& schedule, const schedule::PassCosts& costs);

/// Costs of one chunk, from those of a full stage.
schedule::PassCosts per_chunk(const schedule::PassCosts& full_stage, const schedule::Schedule& schedule);

}  // namespace penstock::sim
