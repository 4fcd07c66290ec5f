#pragma once
// The catalogue of backends.

#include <memory>
#include <string>
#include <vector>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

std::vector<std::string> device_kinds();     ///< "host", and "cuda:0" for all that are numbered so
std::vector<std::string> devices_present();  ///< "host", and every CUDA device that this build can use

/// Opens "host" or "cuda:0", "cuda:1", ... `threads` is how many threads host kernels use, at least 1 (0: as
/// many as the machine has processors); other devices ignore it. Throws BadInput for an unknown device, and
/// where this build or this machine lacks what a device needs, saying which.
std::unique_ptr<Backend> open_device(const std::string& device, int threads = 0);

}  // namespace penstock::kernels
