#include "cuda/memory.hpp"

#include <fmt/format.h>

#include "cuda/status.hpp"

namespace penstock::kernels::cuda {

DeviceMemory::DeviceMemory(std::int64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const cudaError_t status = cudaMalloc(&data_, static_cast<std::size_t>(bytes));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // clears this error
    throw core::BadInput(fmt::format("the device has no room for {} bytes", bytes));
  }
  check(status, "cudaMalloc");
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) cudaFree(data_);
}

}  // namespace penstock::kernels::cuda
