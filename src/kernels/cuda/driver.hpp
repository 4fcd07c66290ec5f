#pragma once
// The few calls of the CUDA driver that cut a device into parts, as a table, so that tests can pass their
// own. The driver is asked for them when they are needed: the library itself is not linked.

#include <cuda.h>

namespace penstock::kernels::cuda {

/// From CUDA 12.5 on.
struct Driver {
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

/// The machine's. Throws BadInput, saying its version, when it is too old.
const Driver& driver();

/// Throws core::Error, naming `call` and the driver's words, unless the result is success.
void check(const Driver& driver, CUresult result, const char* call);

}  // namespace penstock::kernels::cuda
