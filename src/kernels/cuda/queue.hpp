#pragma once
// Where kernels are put, in order.

struct CUstream_st;  // what a cudaStream_t points to

namespace penstock::kernels::cuda {

struct Queue {
  CUstream_st* stream = nullptr;
  int* fault = nullptr;  ///< kernels set this word, on the device, when an embedding looks up a missing row
};

}  // namespace penstock::kernels::cuda
