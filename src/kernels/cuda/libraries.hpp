#pragma once
// The libraries' handles, one set per backend.

#include "cuda/status.hpp"

namespace penstock::kernels::cuda {

struct LibraryHandles {
  /// For the current device. `multiprocessors`: number for which cuBLASLt chooses kernels, on a partition; 0:
  /// the device's.
  explicit LibraryHandles(int multiprocessors);
  ~LibraryHandles();
  LibraryHandles(const LibraryHandles&) = delete;
  LibraryHandles& operator=(const LibraryHandles&) = delete;

  int multiprocessors;
  cublasLtHandle_t blas = nullptr;
  cudnnHandle_t dnn = nullptr;
};

/// Owns a library's object: made by `create`, freed by `destroy`.
template <class Handle, auto create, auto destroy>
class LibraryObject {
 public:
  template <class... Arguments>
  explicit LibraryObject(const char* call, Arguments... arguments) {
    check(create(&handle_, arguments...), call);
  }
  ~LibraryObject() { destroy(handle_); }
  LibraryObject(const LibraryObject&) = delete;
  LibraryObject& operator=(const LibraryObject&) = delete;
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

}  // namespace penstock::kernels::cuda
