#pragma once
// Times of a schedule on equal stages, without a model or a cluster.

#include <vector>

#include "penstock/schedule/pass_costs.hpp"
#include "penstock/schedule/schedule.hpp"

namespace penstock::sim {

struct Interval {
  core::Picoseconds start, end;
};

struct ScheduleTimes {
  core::Picoseconds makespan;           ///< from the first start to the last end
  core::Picoseconds longest_rank_span;  ///< of the rank with the longest time from first start to last end
  double bubble_rate = 0;               ///< of that span, the share beyond the work of the busiest rank
  std::vector<core::Picoseconds> idle;  ///< per rank, within its own span
  /// Per rank, in stages: forwards whose B or W is not done. A micro-batch that is recomputed keeps its
  /// stage's input only and counts from its R on; one that is evicted counts on the partner rank from EVICT
  /// to LOAD.
  std::vector<int> peak_live;
  std::vector<std::vector<Interval>>
      times;  ///< [rank][position] of every action; messages and the like take none
};

/// Ranks run strictly in order. What another rank needs arrives `delay` after it is done, on the same rank at
/// once; messages never block the sender, a receive waits for its message. An overlapped pair takes F + B.
/// With a delay the in-order rule gives 1F1B C (2(p-1)(m/p + 1) - 2) more than without, as the Zero Bubble
/// paper's tables do (Qi et al., ICLR 2024, Table 5). EVICT and LOAD keep no rank from computing: a load
/// begins when its rank comes to it and `delay` after its evict, and brings the activation `delay` later. A
/// barrier takes no time. The schedule must have no violations (schedule::schedule_violations), costs be at
/// most 10^6 s. Throws BadInput for what takes more than 4 * 10^6 s.
ScheduleTimes simulate_schedule(const schedule::Schedule& schedule, const schedule::PassCosts& costs);

/// The times of one chunk from those of a full stage.
schedule::PassCosts per_chunk(const schedule::PassCosts& full_stage, const schedule::Schedule& schedule);

}  // namespace penstock::sim
