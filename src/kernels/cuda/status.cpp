#include "cuda/status.hpp"

#include <fmt/format.h>

namespace penstock::kernels::cuda {
namespace {

[[noreturn]] void fail(const char* call, const char* why) {
  throw core::Error(core::ExitCode::internal, fmt::format("{}: {}", call, why));
}

}  // namespace

void check_launch();  // declared in launch.hpp, which needs nvcc

void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) fail(call, cudaGetErrorString(status));
}

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) fail(call, cublasLtGetStatusString(status));
}

void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS) fail(call, cudnnGetErrorString(status));
}

void check_launch() {
  check(cudaGetLastError(), "a kernel launch");
}

void select(int device) {
  check(cudaSetDevice(device), "cudaSetDevice");
}

}  // namespace penstock::kernels::cuda
