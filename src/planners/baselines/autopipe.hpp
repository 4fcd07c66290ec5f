#pragma once
// AutoPipe: local moves of the stage that determines how long an iteration takes.

#include "baselines/balanced_cuts.hpp"
#include "row_plan.hpp"

namespace penstock::planners {

/// Of 1F1B without transfers: down the pipeline to a stage, that stage's forwards and backwards one after the
/// other, and back up.
struct CriticalPath {
  double seconds = 0;
  std::size_t stage = 0;  ///< the last one whose path is the longest ("master stage")
};
CriticalPath critical_path(const std::vector<std::size_t>& ends, const RunCost& time,
                           std::int64_t micro_batches);

/// Liu et al., "AutoPipe: A Fast Pipeline Parallelism Approach with Balanced Partitioning and Micro-batch
/// Slicing", CLUSTER 2022, as far as its abstract and the authors' code (HPDL-Group/Merak) tell: begins with
/// the least largest stage, then queues cuts that move one unit off the critical stage and balance the stages
/// before it afresh. Differs: the critical path is the closed form above, no simulated 1F1B; at most 4096
/// cuts are looked at; the slicer, a schedule of its own (sliced_1f1b), is left out. The paper is given the
/// stage count, `autopipe` tries all that divide the devices, with replicas. Returns the ends of the best cut
/// into `stages` of the first `units`; 1 <= stages <= units.
std::vector<std::size_t> move_critical(std::size_t stages, std::size_t units, const RunCost& time,
                                       std::int64_t micro_batches, core::StopToken stop);

}  // namespace penstock::planners
