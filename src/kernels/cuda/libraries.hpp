#pragma once
// The libraries' handles, one set per backend.

#include "cuda/status.hpp"

namespace penstock::kernels::cuda {

struct Libraries {
  /// For the current device. `multiprocessors`: number for which cuBLASLt chooses kernels, on a partition; 0:
  /// the device's.
  explicit Libraries(int multiprocessors);
  ~Libraries();
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;

  int multiprocessors;
  cublasLtHandle_t blas = nullptr;
  cudnnHandle_t dnn = nullptr;
};

/// Owns a library's object: made by `create`, freed by `destroy`.
template <class Handle, auto create, auto destroy>
class Owned {
 public:
  template <class... Arguments>
  explicit Owned(const char* call, Arguments... arguments) {
    check(create(&handle_, arguments...), call);
  }
  ~Owned() { destroy(handle_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

}  // namespace penstock::kernels::cuda
