#pragma once
// The backend is a library of its own, which the program loads when a device is first asked for: CUDA's take
// long to load. Program and library come from one build.

#include <memory>
#include <string>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// What the library has for the program: the functions of cuda/backend.hpp.
struct CudaModule {
  int (*devices)();
  std::unique_ptr<Backend> (*open)(const std::string& device);
};

constexpr const char* kCudaLibrary = "penstock_cuda.so";
constexpr const char* kCudaEntry = "penstock_cuda";  ///< a CudaModule

}  // namespace penstock::kernels
