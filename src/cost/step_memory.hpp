#pragma once
// Memory of a framework for the reduction of gradients and for the optimizer's step.

#include "penstock/cost/stage_load.hpp"

namespace penstock::cost {

/// True if ranks own whole matrices, so that buffers are padded.
bool owns_matrices(const UpdatedWeights& updated, const plan::ReplicaPlacement& placement);

/// Bytes of weights that one device updates: by the named optimizer, and by adam beside it.
struct StepWeights {
  core::Bytes own, by_adam;
};
StepWeights step_weights(const StageLoad& load, const plan::ReplicaPlacement& placement);

/// Bytes of copies and temporaries in the step of a device that updates `weights`. Differs: all weights are updated
/// at once, as one group of parameters; DeepSpeed's ZeRO 3 takes 1e9 numbers at a time. Muon's temporaries, a few
/// times its largest matrix in bf16, are left out.
core::Bytes step_memory(const cluster::FrameworkMemory& framework, const plan::Training& training,
                        const StepWeights& weights);

/// Bytes of buckets of `bucket` bytes each. ZeRO 2 has two: one is reduced while the other fills (DeepSpeed's
/// overlap_comm, set in Hugging Face's configurations; one without it). ZeRO 1, which pipelines run without
/// overlap, and ZeRO 3 have one. Other placements have none.
core::Bytes bucket_memory(core::Bytes bucket, const plan::ReplicaPlacement& placement);

}  // namespace penstock::cost
