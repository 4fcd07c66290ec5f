#pragma once
// Outer level of GraphPipe's Algorithm 1: the smallest bound for which a partition exists.

#include <limits>
#include <optional>

#include "graphpipe/partition.hpp"

namespace penstock::planners {

struct BottleneckResult {
  std::vector<PartStage> stages;
  double seconds_per_sample = 0;  ///< of the slowest stage
  std::uint64_t rows = 0;         ///< table rows computed in all probes
  /// False: the deadline came first. A better partition may exist, and this one may need too much memory.
  bool complete = true;
};

/// Minimises the bottleneck exactly; the listing searches up to an epsilon. Every success lowers the bound to
/// the bottleneck attained, and the last probe, just below it, fails. A first search ignores the samples in
/// flight; the second starts from its result, and ends there unless memory is short. Returns nothing if no
/// partition fits in memory, or if none is faster than `give_up` (seconds per sample). At the deadline
/// returns the best so far, or throws LimitHit if there is none.
std::optional<BottleneckResult> least_bottleneck(const UnitArrangement& arrangement, const StageTable& table,
                                                 core::StopToken stop,
                                                 double give_up = std::numeric_limits<double>::infinity());

/// No stage can be faster than this: all work over all devices, or the slowest unit.
double bottleneck_bound(const StageTable& table);

}  // namespace penstock::planners
