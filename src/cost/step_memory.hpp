#pragma once
// Memory of a framework for the reduction of gradients and for the optimizer's step.

#include "penstock/cost/stage_load.hpp"

namespace penstock::cost {

/// Bytes of copies and temporaries in the step of a device that updates `weights` bytes of weights. Differs:
/// all weights are updated at once, as one group of parameters; DeepSpeed's ZeRO 3 takes 1e9 numbers at a time.
core::Bytes step_memory(const cluster::FrameworkMemory& framework, const plan::Training& training,
                        core::Bytes weights);

/// Bytes of buckets of `bucket` bytes each. ZeRO 2 has two: one is reduced while the other fills (DeepSpeed's
/// overlap_comm, set in Hugging Face's configurations; one without it). ZeRO 1, which pipelines run without
/// overlap, and ZeRO 3 have one. Other placements have none.
core::Bytes bucket_memory(core::Bytes bucket, const plan::ReplicaPlacement& placement);

}  // namespace penstock::cost
