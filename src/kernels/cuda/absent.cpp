// Replaces the backend in a build without it.

#include "cuda/backend.hpp"
#include "device_name.hpp"
#include "penstock/core/error.hpp"

namespace penstock::kernels {

int cuda_devices() {
  return 0;
}

std::unique_ptr<Backend> open_cuda(const std::string& device) try {
  cuda_name(device);
  throw core::BadInput("this build has no CUDA backend (it needs nvcc, cuBLASLt and cuDNN when configured)");
} catch (const core::BadInput& e) {
  throw core::BadInput("device '" + device + "': " + e.what());
}

}  // namespace penstock::kernels
