#pragma once
// The catalogue of backends.

#include <memory>
#include <string>
#include <vector>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

std::vector<std::string> device_kinds();  ///< "host"

/// Opens "host". `threads` is how many threads host kernels use, at least 1 (0: as many as the machine has
/// processors). Throws BadInput for an unknown device.
std::unique_ptr<Backend> open_device(const std::string& device, int threads = 0);

}  // namespace penstock::kernels
