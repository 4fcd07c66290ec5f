#pragma once
// Optimizer steps in one sweep over parameters, gradient and state.

#include "cuda/queue.hpp"
#include "update_step.hpp"

namespace penstock::kernels::cuda {

/// `step` is fixed when the call is captured in a graph.
void update(const LaunchQueue& queue, const UpdateStep& step, const UpdateArrays& arrays, Element element,
            std::int64_t count);

}  // namespace penstock::kernels::cuda
