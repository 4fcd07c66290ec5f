#pragma once
// Names of CUDA devices and their partitions.

#include <cstddef>
#include <string>
#include <vector>

#include "penstock/kernels/devices.hpp"

namespace penstock::kernels {

struct CudaName {
  int device = 0;
  int partitions = 0;  ///< number of equal partitions, of which this is one; 0: the whole device
  friend bool operator==(const CudaName&, const CudaName&) = default;
};

/// Parses "cuda:0" or "cuda:0/4". Throws BadInput for other names.
CudaName cuda_name(const std::string& device);
std::string to_string(const CudaName& name);

/// Device `index` of a process that sees `gpus` GPUs (device_for): devices that share a GPU are neighbours,
/// in as many partitions as needed.
CudaName spread(std::size_t index, const MachineShare& share, std::size_t gpus);

/// Devices that can work in parallel on a machine of `gpus` GPUs, beginning with this one: all GPUs, or the
/// partitions of its own.
std::vector<CudaName> peers(const CudaName& name, std::size_t gpus);

}  // namespace penstock::kernels
