// Stands in for the backend in a build without it.

#include "cuda/backend.hpp"
#include "penstock/core/error.hpp"

namespace penstock::kernels {

int cuda_devices() {
  return 0;
}

std::unique_ptr<Backend> open_cuda(const std::string& device) {
  throw core::BadInput(
      "device '" + device +
      "': this build has no CUDA backend (it needs nvcc, cuBLASLt and cuDNN when configured)");
}

}  // namespace penstock::kernels
