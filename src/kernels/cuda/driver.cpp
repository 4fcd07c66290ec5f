#include "cuda/driver.hpp"

#include <fmt/format.h>

#include "cuda/status.hpp"

namespace penstock::kernels::cuda {
namespace {

constexpr unsigned kVersion = 12050;  ///< the first with all of the calls

template <class Call>
void find(Call& call, const char* name) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &address, kVersion, cudaEnableDefault, &found);
  if (status == cudaSuccess && found == cudaDriverEntryPointSuccess && address != nullptr) {
    call = reinterpret_cast<Call>(address);
    return;
  }
  cudaGetLastError();  // clears this error
  int version = 0;
  check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  throw core::BadInput(
      fmt::format("partitions need a driver of CUDA 12.5 or newer with {}; this one knows {}.{}", name,
                  version / 1000, version % 1000 / 10));
}

DriverCalls load() {
  DriverCalls out;
  find(out.get_device, "cuDeviceGet");
  find(out.resource_of_device, "cuDeviceGetDevResource");
  find(out.split, "cuDevSmResourceSplitByCount");
  find(out.describe, "cuDevResourceGenerateDesc");
  find(out.create, "cuGreenCtxCreate");
  find(out.destroy, "cuGreenCtxDestroy");
  find(out.resource_of_context, "cuGreenCtxGetDevResource");
  find(out.make_stream, "cuGreenCtxStreamCreate");
  find(out.error_string, "cuGetErrorString");
  return out;
}

}  // namespace

const DriverCalls& driver() {
  static const DriverCalls table = load();
  return table;
}

}  // namespace penstock::kernels::cuda
