#pragma once
// AutoPipe: local moves of the stage that determines the iteration time.

#include "baselines/balanced_cuts.hpp"
#include "row_plan.hpp"

namespace penstock::planners {

/// Critical path of 1F1B without transfers: down the pipeline to a stage, that stage's forwards and backwards
/// one after the other, and back up.
struct CriticalPath {
  double seconds = 0;
  std::size_t stage = 0;  ///< last stage whose path is the longest ("master stage")
};
CriticalPath critical_path(const std::vector<std::size_t>& ends, const RunCost& time,
                           std::int64_t micro_batches);

/// Search of Liu et al., "AutoPipe: A Fast Pipeline Parallelism Approach with Balanced Partitioning and
/// Micro-batch Slicing", CLUSTER 2022, reconstructed from its abstract and the authors' code
/// (HPDL-Group/Merak). Starts from the cut with the smallest largest stage, then queues cuts that move one
/// unit off the critical stage and rebalance the stages before it. Differs: the critical path is the closed
/// form above instead of a simulated 1F1B; at most 4096 cuts are evaluated; the slicer (sliced_1f1b) is left
/// out. The paper fixes the stage count; `autopipe` tries all that divide the devices, with replicas. Returns
/// the ends of the best cut of the first `units` into `stages`; 1 <= stages <= units.
std::vector<std::size_t> move_critical(std::size_t stages, std::size_t units, const RunCost& time,
                                       std::int64_t micro_batches, core::StopToken stop);

}  // namespace penstock::planners
