#pragma once
// What CUDA devices and their partitions are called.

#include <cstddef>
#include <string>
#include <vector>

namespace penstock::kernels {

struct CudaName {
  int device = 0;
  int partitions = 0;  ///< how many equal ones it is one of; 0: it is the whole device
  friend bool operator==(const CudaName&, const CudaName&) = default;
};

/// Of "cuda:0", or "cuda:0/4". Throws BadInput for what is no such name.
CudaName cuda_name(const std::string& device);
std::string to_string(const CudaName& name);

/// Device `index` of `count` on `gpus` GPUs, side by side: one GPU each, or, where there are too few, each
/// GPU in as many partitions as that takes. Neighbours share a GPU.
CudaName spread(std::size_t index, std::size_t count, std::size_t gpus);

/// Who can work beside it on a machine of `gpus` GPUs, it first: all GPUs, or the partitions of its own.
std::vector<CudaName> peers(const CudaName& name, std::size_t gpus);

}  // namespace penstock::kernels
