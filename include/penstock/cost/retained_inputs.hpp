#pragma once
// Received tensors that a framework keeps on the last stage until the step ends.

#include <cstdint>

#include "penstock/cost/problem.hpp"
#include "penstock/cost/stage_load.hpp"

namespace penstock::cost {

/// Bytes on each of the stage's devices beyond those of micro-batches in flight. A schedule of
/// torch.distributed.pipelining keeps each loss, the loss keeps its graph, and the graph's leaf is the received
/// tensor (torch 2.15; findings/pipeline_last_stage_inputs.sh). So all micro-batches of an iteration have theirs at
/// its fullest moment, the last forward pass. 0 of other frameworks (FrameworkMemory::keeps_inputs), and of stages
/// without a loss or without inputs. `samples`: of each micro-batch on one device.
core::Bytes retained_inputs(const Problem& problem, const plan::Stage& stage, const StageLoad& load,
                            std::int64_t samples);

}  // namespace penstock::cost
