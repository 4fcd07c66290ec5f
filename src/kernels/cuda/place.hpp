#pragma once
// Target of work: a device, or one of its partitions.

#include <memory>
#include <string>

#include "cuda/partition.hpp"
#include "cuda/status.hpp"
#include "device_name.hpp"

namespace penstock::kernels::cuda {

class DevicePlace {
 public:
  /// Takes a partition with the fewest users. Throws BadInput if the device has none, or the driver cannot
  /// partition it.
  explicit DevicePlace(const CudaName& name);
  ~DevicePlace();
  DevicePlace(const DevicePlace&) = delete;
  DevicePlace& operator=(const DevicePlace&) = delete;

  int device() const { return name_.device; }
  const CudaName& name() const { return name_; }
  /// With the number of the partition, or the address of the whole device, because processes may number
  /// devices differently.
  std::string unique_name() const;
  int multiprocessors() const;  ///< of the partition; 0 for a whole device
  /// Non-blocking; the caller destroys it before the place.
  cudaStream_t make_stream() const;
  /// True if both use the same multiprocessors.
  bool operator==(const DevicePlace& other) const {
    return name_ == other.name_ && partition_ == other.partition_;
  }

 private:
  CudaName name_;
  std::shared_ptr<DevicePartitions> split_;  ///< null: the whole device
  int partition_ = 0;
};

/// Compute capability of the device: 90 is 9.0.
int capability(int device);
int attribute(cudaDeviceAttr what, int device);

}  // namespace penstock::kernels::cuda
