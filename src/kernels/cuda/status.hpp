#pragma once
// Results of CUDA and its libraries, as errors that name the call.

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "penstock/core/error.hpp"

namespace penstock::kernels::cuda {

/// Throws core::Error with `call` and the library's message, unless the status is success.
void check(cudaError_t status, const char* call);
void check(cublasStatus_t status, const char* call);
void check(cudnnStatus_t status, const char* call);

/// Makes this device the current one of this thread.
void select(int device);

}  // namespace penstock::kernels::cuda
