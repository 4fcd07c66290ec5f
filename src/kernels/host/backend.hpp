#pragma once
// The host: oneDNN for computation, plain loops for copies.

#include <memory>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// `threads` as in open_device.
std::unique_ptr<Backend> open_host(int threads);

}  // namespace penstock::kernels
