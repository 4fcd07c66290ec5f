#pragma once
// NVIDIA devices: cuBLASLt for products, cuDNN for convolutions, kernels of our own for what moves or sums.

#include <memory>
#include <string>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// How many devices this process can use; 0 where the backend is not built in or there is no driver.
int cuda_devices();

/// Opens "cuda:0", "cuda:1", ..., or "cuda:0/4" (devices.hpp). Throws BadInput that says what is missing: the
/// backend in this build, a driver, one that is new enough, a device, one of that number, or one that is new
/// enough and has so many partitions.
std::unique_ptr<Backend> open_cuda(const std::string& device);

}  // namespace penstock::kernels
