#pragma once
// The CUDA backend on the host: its own steps and kernels, compiled by the host's compiler, over plain loops
// that replace its libraries. It shows that every step reads and writes what it should where there is no
// device. Convolution, which is one call of cuDNN each way, is not part of it.

#include <memory>

#include "penstock/kernels/backend.hpp"

namespace penstock::test {

std::unique_ptr<kernels::Backend> open_twin();

}  // namespace penstock::test
