#pragma once
// The few calls of the CUDA driver that partition a device, as a table, so that tests can pass their own.
// They are looked up when needed: the library is not linked.

#include <cuda.h>

namespace penstock::kernels::cuda {

/// Available from CUDA 12.5 on.
struct DriverCalls {
  decltype(&cuDeviceGet) get_device = nullptr;
  decltype(&cuDeviceGetDevResource) resource_of_device = nullptr;
  decltype(&cuDevSmResourceSplitByCount) split = nullptr;
  decltype(&cuDevResourceGenerateDesc) describe = nullptr;
  decltype(&cuGreenCtxCreate) create = nullptr;
  decltype(&cuGreenCtxDestroy) destroy = nullptr;
  decltype(&cuGreenCtxGetDevResource) resource_of_context = nullptr;
  decltype(&cuGreenCtxStreamCreate) make_stream = nullptr;
  decltype(&cuGetErrorString) error_string = nullptr;
};

/// Returns the machine's driver. Throws BadInput with its version if it is too old.
const DriverCalls& driver();

/// Throws core::Error with `call` and the driver's message, unless the result is success.
void check(const DriverCalls& driver, CUresult result, const char* call);

}  // namespace penstock::kernels::cuda
