#pragma once
// Builds a plan from a partition: stage order, device numbers, in-flight counts.

#include "graphpipe/partition.hpp"

namespace penstock::planners {

/// Gives stage s the next replicas[s] devices, consecutive in stage order as in GraphPipe's runtime. Differs:
/// a replicated stage waits for an aligned start while smaller stages can fill the gap, so that groups do not
/// straddle nodes.
void place(plan::Plan& plan, const std::vector<int>& replicas);

/// Orders stages topologically, those that come first in the arrangement first; assigns devices by `place`.
/// `in_row`: each stage also waits for the one before it (the runtime's --sequential-pipeline).
plan::Plan assemble(const cost::Problem& problem, const StageTable& table,
                    const std::vector<PartStage>& stages, bool in_row);

}  // namespace penstock::planners
