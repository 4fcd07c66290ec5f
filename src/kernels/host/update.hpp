#pragma once
// Optimizer steps in one sweep over parameters, gradient and state.

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels::host {

std::unique_ptr<OptimizerStep> make_host_update(const UpdateRule& rule, std::int64_t count, Element element,
                                                int threads);

}  // namespace penstock::kernels::host
