#include "cuda/libraries.hpp"

namespace penstock::kernels::cuda {

LibraryHandles::LibraryHandles(int count) : multiprocessors(count) {
  check(cublasLtCreate(&blas), "cublasLtCreate");
  check(cudnnCreate(&dnn), "cudnnCreate");
}

LibraryHandles::~LibraryHandles() {
  if (dnn != nullptr) cudnnDestroy(dnn);
  if (blas != nullptr) cublasLtDestroy(blas);
}

}  // namespace penstock::kernels::cuda
