#pragma once
// Where work goes: to a device, or to one of its partitions.

#include <memory>
#include <string>

#include "cuda/partition.hpp"
#include "cuda/status.hpp"
#include "device_name.hpp"

namespace penstock::kernels::cuda {

class Place {
 public:
  /// A partition that fewest use. Throws BadInput where the device has no such, or the driver cannot cut.
  explicit Place(const CudaName& name);
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  int device() const { return name_.device; }
  const CudaName& name() const { return name_; }
  /// With the number of the partition, or the address of the whole device: processes may count differently.
  std::string unique_name() const;
  int multiprocessors() const;  ///< of the partition; 0: of a whole device, all
  /// Non-blocking; the caller destroys it while the place is there.
  cudaStream_t make_stream() const;
  /// The same multiprocessors.
  bool operator==(const Place& other) const { return name_ == other.name_ && partition_ == other.partition_; }

 private:
  CudaName name_;
  std::shared_ptr<Split> split_;  ///< null: the whole device
  int partition_ = 0;
};

/// What the device can do: 90 is 9.0.
int capability(int device);
int attribute(cudaDeviceAttr what, int device);

}  // namespace penstock::kernels::cuda
