#pragma once
// The backend is a separate library, which the program loads when a device is first used, because CUDA's
// libraries take long to load. Program and library come from one build.

#include <memory>
#include <string>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// Functions of the library for the program: those of cuda/backend.hpp.
struct CudaModule {
  int (*devices)();
  std::unique_ptr<Backend> (*open)(const std::string& device);
};

constexpr const char* kCudaLibrary = "penstock_cuda.so";
constexpr const char* kCudaEntry = "penstock_cuda";  ///< a CudaModule

}  // namespace penstock::kernels
