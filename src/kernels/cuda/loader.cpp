// The program's side of the backend: loads the library on first use and keeps it.

#include <dlfcn.h>
#include <fmt/format.h>

#include "cuda/backend.hpp"
#include "cuda/module.hpp"
#include "device_name.hpp"
#include "penstock/core/error.hpp"

namespace penstock::kernels {
namespace {

/// Throws BadInput if the library, or one that it needs, is missing.
const CudaModule& load() {
  void* library = dlopen(kCudaLibrary, RTLD_NOW | RTLD_LOCAL);
  const void* entry = library != nullptr ? dlsym(library, kCudaEntry) : nullptr;
  if (entry == nullptr) throw core::BadInput(fmt::format("the CUDA backend cannot be loaded: {}", dlerror()));
  return *static_cast<const CudaModule*>(entry);
}

const CudaModule& backend() {
  static const CudaModule& loaded = load();
  return loaded;
}

}  // namespace

int cuda_devices() try { return backend().devices(); } catch (const core::BadInput&) {
  return 0;
}

std::unique_ptr<Backend> open_cuda(const std::string& device) {
  const auto open = [&]() -> decltype(CudaModule::open) {
    try {
      cuda_name(device);
      return backend().open;
    } catch (const core::BadInput& e) {
      throw core::BadInput(fmt::format("device '{}': {}", device, e.what()));
    }
  }();
  return open(device);
}

}  // namespace penstock::kernels
