#pragma once
// NVIDIA devices: cuBLASLt for products, cuDNN for convolutions, our own kernels for copies and sums.

#include <memory>
#include <string>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// Number of devices that this process can use; 0 without the backend or a driver.
int cuda_devices();

/// Opens "cuda:0", "cuda:1", ..., or "cuda:0/4" (devices.hpp). Throws BadInput naming what is missing: the
/// backend in this build, a driver, a recent enough driver, or a device. The device may also lack that
/// number, be too old, or have too few partitions.
std::unique_ptr<Backend> open_cuda(const std::string& device);

}  // namespace penstock::kernels
