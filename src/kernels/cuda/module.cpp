// The only exported name of the library.

#include "cuda/module.hpp"

#include "cuda/backend.hpp"

extern "C" {
[[gnu::visibility("default")]] extern const penstock::kernels::CudaModule penstock_cuda;
const penstock::kernels::CudaModule penstock_cuda{penstock::kernels::cuda_devices,
                                                  penstock::kernels::open_cuda};
}
