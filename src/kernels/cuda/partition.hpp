#pragma once
// A device in equal partitions by green contexts: streams made in one run their work only on that partition's
// multiprocessors. Memory, its bandwidth and the L2 cache are shared. (CUDA Driver API, "Green Contexts"; a
// stream binds work to a partition, whatever context is current.)

#include <memory>
#include <mutex>
#include <vector>

#include "cuda/driver.hpp"

namespace penstock::kernels::cuda {

/// Partitions have at least `least` multiprocessors, and a multiple of `step`.
struct PartitionGranularity {
  int least = 1, step = 1;
};
/// Values of the driver's documentation, by compute capability (90 is 9.0).
PartitionGranularity usual_granularity(int capability);

/// Maximum number of multiprocessors in each of `partitions` equal ones. Throws BadInput if it is below the
/// minimum, with the possible number of partitions.
int partition_size(int multiprocessors, int partitions, PartitionGranularity granularity);

/// One green context.
class GreenContext {
 public:
  GreenContext(const DriverCalls& driver, CUdevice device, CUdevResource resource);
  ~GreenContext();
  GreenContext(const GreenContext&) = delete;
  GreenContext& operator=(const GreenContext&) = delete;
  /// Non-blocking; the caller destroys it before the context.
  CUstream make_stream() const;
  int multiprocessors() const;  ///< as granted

 private:
  const DriverCalls& driver_;
  CUgreenCtx context_ = nullptr;
};

/// A whole device in equal partitions.
class DevicePartitions {
 public:
  /// If the driver makes fewer partitions than the size allows, smaller sizes are tried. Throws BadInput if
  /// no size works. `usual` is for drivers that do not report their granularity.
  DevicePartitions(const DriverCalls& driver, int device, int partitions, PartitionGranularity usual);

  const GreenContext& at(int index) const { return *contexts_[static_cast<std::size_t>(index)]; }
  int multiprocessors() const { return contexts_.front()->multiprocessors(); }  ///< of each

  /// Takes the partition with the fewest users, the first among equals. Thread-safe.
  int take();
  void give_back(int index);

 private:
  std::vector<std::unique_ptr<GreenContext>> contexts_;
  std::mutex mutex_;
  std::vector<int> users_;
};

}  // namespace penstock::kernels::cuda
