#pragma once
// DAPPLE's latency of a pipeline.

#include <limits>
#include <vector>

#include "rows/slice_costs.hpp"

namespace penstock::planners {

/// Fan et al., "DAPPLE: A Pipelined Data Parallel Approach for Training Large Models", PPoPP 2021.
/// L = T_w + T_s + T_e over a row of stages. Transfers between them count as stages without all-reduce.
/// With pivot Q:
///     T_w = sum of F_s, s <= Q;   T_s = (M - 1)(F_Q + B_Q);
///     T_e = max over s of AR_s + (sum of B_a, s <= a <= Q, or minus that of Q < a <= s).
/// Differs: the pivot is the one with the largest L. The paper (as recalled) moves it from the last stage to
/// the left by comparing T_s. That finds the largest L in five of six random rows and a smaller one
/// otherwise. L ignores idle time, so a simulated pipeline takes longer.
double dapple_latency(const std::vector<PhaseTimes>& row, int micro_batches);

/// Data that stages in front need of the rest of a row. The three values cannot be traded for each other, so
/// a search keeps those that no other dominates.
struct LatencyTail {
  static constexpr double kNone = -std::numeric_limits<double>::infinity();
  double whole = kNone;  ///< L of the rest by itself
  /// Max over its pivots of T_s and all passes up to the pivot's, which precede an all-reduce in front.
  double behind = kNone;
  double reduce =
      kNone;  ///< max over its stages of AR_s less all backward passes up to it, for pivots in front
};
/// Returns the tail with one more stage in front.
LatencyTail in_front(const PhaseTimes& stage, const LatencyTail& rest, int micro_batches);

}  // namespace penstock::planners
