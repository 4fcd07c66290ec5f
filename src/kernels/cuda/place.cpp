#include "cuda/place.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace penstock::kernels::cuda {
namespace {

/// Returns the split for a device and number of partitions, shared while in use.
std::shared_ptr<DevicePartitions> split_of(const CudaName& name) {
  static std::mutex mutex;
  static std::map<std::pair<int, int>, std::weak_ptr<DevicePartitions>> known;
  const std::lock_guard lock(mutex);
  auto& entry = known[{name.device, name.partitions}];
  std::shared_ptr<DevicePartitions> split = entry.lock();
  if (split == nullptr)
    entry = split = std::make_shared<DevicePartitions>(driver(), name.device, name.partitions,
                                                       usual_granularity(capability(name.device)));
  return split;
}

/// Enables direct copies from other devices, without the host.
void reach_others(int device) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  for (int other = 0; other < count; ++other) {
    int can = 0;
    if (other == device) continue;
    check(cudaDeviceCanAccessPeer(&can, device, other), "cudaDeviceCanAccessPeer");
    if (can == 0) continue;
    const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
    cudaGetLastError();  // clears this error
    if (status != cudaErrorPeerAccessAlreadyEnabled) check(status, "cudaDeviceEnablePeerAccess");
  }
}

}  // namespace

DevicePlace::DevicePlace(const CudaName& name) : name_(name) {
  select(name.device);  // creates its primary context before green ones
  reach_others(name.device);
  if (name.partitions == 0) return;
  split_ = split_of(name);
  partition_ = split_->take();
}

DevicePlace::~DevicePlace() {
  if (split_ != nullptr) split_->give_back(partition_);
}

std::string DevicePlace::unique_name() const {
  if (split_ != nullptr) return fmt::format("{}, partition {}", to_string(name_), partition_);
  char address[32] = {};
  check(cudaDeviceGetPCIBusId(address, sizeof address, name_.device), "cudaDeviceGetPCIBusId");
  return fmt::format("{} at {}", to_string(name_), address);
}

int DevicePlace::multiprocessors() const {
  return split_ == nullptr ? 0 : split_->multiprocessors();
}

cudaStream_t DevicePlace::make_stream() const {
  select(name_.device);
  if (split_ != nullptr) return split_->at(partition_).make_stream();
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return stream;
}

int attribute(cudaDeviceAttr what, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, what, device), "cudaDeviceGetAttribute");
  return value;
}

int capability(int device) {
  return 10 * attribute(cudaDevAttrComputeCapabilityMajor, device) +
         attribute(cudaDevAttrComputeCapabilityMinor, device);
}

}  // namespace penstock::kernels::cuda
