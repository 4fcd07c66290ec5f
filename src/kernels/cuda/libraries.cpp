#include "cuda/libraries.hpp"

namespace penstock::kernels::cuda {

Libraries::Libraries(int count) : multiprocessors(count) {
  check(cublasLtCreate(&blas), "cublasLtCreate");
  check(cudnnCreate(&dnn), "cudnnCreate");
}

Libraries::~Libraries() {
  if (dnn != nullptr) cudnnDestroy(dnn);
  if (blas != nullptr) cublasLtDestroy(blas);
}

}  // namespace penstock::kernels::cuda
