#pragma once
// A queue of kernels, in order.

struct CUstream_st;  // pointee of cudaStream_t

namespace penstock::kernels::cuda {

struct LaunchQueue {
  CUstream_st* stream = nullptr;
  int* fault = nullptr;  ///< word on the device that kernels set when an embedding looks up a missing row
};

}  // namespace penstock::kernels::cuda
