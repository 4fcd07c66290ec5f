#pragma once
// The outer level of GraphPipe's Algorithm 1: the least bound for which a partition exists.

#include <limits>
#include <optional>

#include "graphpipe/partition.hpp"

namespace penstock::planners {

struct Bottleneck {
  std::vector<PartStage> stages;
  double seconds_per_sample = 0;  ///< of the slowest stage
  std::uint64_t rows = 0;         ///< table rows computed in all probes
  bool complete =
      true;  ///< false: the deadline came first; a better one may exist, and this may need too much memory
};

/// Exact, unlike the listing's search up to an epsilon: every success lowers the bound to the bottleneck
/// really attained, and the last probe, just below it, fails. A first search ignores the samples in flight;
/// its result is where the second begins, and ends unless memory is short. Nothing when no partition fits in
/// memory, or when none is faster than `give_up` (seconds per sample). At the deadline the best so far is
/// returned; LimitHit when there is none.
std::optional<Bottleneck> least_bottleneck(const Arrangement& arrangement, const StageTable& table,
                                           core::StopToken stop,
                                           double give_up = std::numeric_limits<double>::infinity());

/// No stage can be faster than this: all work over all devices, or the slowest unit.
double bottleneck_bound(const StageTable& table);

}  // namespace penstock::planners
