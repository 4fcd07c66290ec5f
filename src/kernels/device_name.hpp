#pragma once
// What CUDA devices and their partitions are called.

#include <cstddef>
#include <string>
#include <vector>

#include "penstock/kernels/devices.hpp"

namespace penstock::kernels {

struct CudaName {
  int device = 0;
  int partitions = 0;  ///< how many equal ones it is one of; 0: it is the whole device
  friend bool operator==(const CudaName&, const CudaName&) = default;
};

/// Of "cuda:0", or "cuda:0/4". Throws BadInput for what is no such name.
CudaName cuda_name(const std::string& device);
std::string to_string(const CudaName& name);

/// Device `index` of a process that sees `gpus` GPUs (device_for): those that share one are neighbours, in as
/// many partitions as that takes.
CudaName spread(std::size_t index, const MachineShare& share, std::size_t gpus);

/// Who can work beside it on a machine of `gpus` GPUs, it first: all GPUs, or the partitions of its own.
std::vector<CudaName> peers(const CudaName& name, std::size_t gpus);

}  // namespace penstock::kernels
