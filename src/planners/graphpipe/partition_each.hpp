#pragma once
// Enumeration of first stages, shared by the solving and the tracing part of Partition.

#include "graphpipe/partition.hpp"

namespace penstock::planners {

template <class F>
void PartitionSearch::each_first_stage(TailSolutions& tail, int p, int back, F&& f) {
  for (const StageStart& start : starts(tail.sequence, p, back)) {
    if (start.end > tail.end) return;
    if (start.front > 0 && start.end == tail.end) continue;
    const LevelRow& downstream = start.front > 0 ? opened(tail, start.end, start.front)
                                                 : tail.from[static_cast<std::size_t>(start.end)];
    if (!downstream.empty() && !f(start, downstream)) return;
  }
}

}  // namespace penstock::planners
