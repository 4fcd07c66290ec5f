#include "cuda/partition.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/error.hpp"

namespace penstock::kernels::cuda {
namespace {

constexpr int kFinest = 8;  ///< multiprocessors, from Hopper on

int count(const CUdevResource& resource) {
  return static_cast<int>(resource.sm.smCount);
}

PartitionGranularity granularity(const CUdevResource& device, PartitionGranularity usual) {
#if CUDA_VERSION >= 13000  // earlier ones do not report it
  const auto least = static_cast<int>(device.sm.minSmPartitionSize),
             step = static_cast<int>(device.sm.smCoscheduledAlignment);
  if (least > 0 && step > 0) return {least, step};
#endif
  static_cast<void>(device);
  return usual;
}

/// Number of partitions of that size that the driver would make.
int possible(const DriverCalls& driver, const CUdevResource& device, int size) {
  unsigned groups = 0;
  check(driver, driver.split(nullptr, &groups, &device, nullptr, 0, static_cast<unsigned>(size)),
        "cuDevSmResourceSplitByCount");
  return static_cast<int>(groups);
}

int largest_size(const DriverCalls& driver, const CUdevResource& device, int partitions,
                 PartitionGranularity allowed) {
  for (int size = partition_size(count(device), partitions, allowed); size >= allowed.least;
       size -= allowed.step)
    if (possible(driver, device, size) >= partitions) return size;
  throw core::BadInput(fmt::format("the driver makes no {} equal partitions of {} multiprocessors",
                                   partitions, count(device)));
}

std::vector<CUdevResource> cut(const DriverCalls& driver, const CUdevResource& device, int partitions,
                               int size) {
  std::vector<CUdevResource> out(static_cast<std::size_t>(partitions));
  auto made = static_cast<unsigned>(partitions);
  check(driver, driver.split(out.data(), &made, &device, nullptr, 0, static_cast<unsigned>(size)),
        "cuDevSmResourceSplitByCount");
  const bool equal =
      std::ranges::all_of(out, [&](const auto& one) { return count(one) == count(out.front()); });
  if (made != out.size() || !equal)
    throw core::BadInput(
        fmt::format("the driver made {} partitions instead of {} equal ones", made, partitions));
  return out;
}

}  // namespace

void check(const DriverCalls& driver, CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* why = nullptr;
  driver.error_string(result, &why);
  throw core::Error(core::ExitCode::internal,
                    fmt::format("{}: {}", call, why != nullptr ? why : "unknown error"));
}

PartitionGranularity usual_granularity(int capability) {
  if (capability >= 90) return {kFinest, kFinest};
  if (capability >= 80) return {4, 2};
  return {2, 2};
}

int partition_size(int multiprocessors, int partitions, PartitionGranularity granularity) {
  const int size = multiprocessors / partitions / granularity.step * granularity.step;
  if (size < granularity.least || size < 1)
    throw core::BadInput(fmt::format("{} multiprocessors make at most {} partitions of {}, not {}",
                                     multiprocessors, multiprocessors / granularity.least, granularity.least,
                                     partitions));
  return size;
}

GreenContext::GreenContext(const DriverCalls& driver, CUdevice device, CUdevResource resource)
    : driver_(driver) {
  CUdevResourceDesc description = nullptr;
  check(driver, driver.describe(&description, &resource, 1), "cuDevResourceGenerateDesc");
  check(driver, driver.create(&context_, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
        "cuGreenCtxCreate");
}

GreenContext::~GreenContext() {
  driver_.destroy(context_);
}

CUstream GreenContext::make_stream() const {
  CUstream stream = nullptr;
  check(driver_, driver_.make_stream(&stream, context_, CU_STREAM_NON_BLOCKING, 0), "cuGreenCtxStreamCreate");
  return stream;
}

int GreenContext::multiprocessors() const {
  CUdevResource granted{};
  check(driver_, driver_.resource_of_context(context_, &granted, CU_DEV_RESOURCE_TYPE_SM),
        "cuGreenCtxGetDevResource");
  return count(granted);
}

DevicePartitions::DevicePartitions(const DriverCalls& driver, int device, int partitions,
                                   PartitionGranularity usual) {
  CUdevice handle{};
  check(driver, driver.get_device(&handle, device), "cuDeviceGet");
  CUdevResource all{};
  check(driver, driver.resource_of_device(handle, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
  const int size = largest_size(driver, all, partitions, granularity(all, usual));
  for (const CUdevResource& one : cut(driver, all, partitions, size))
    contexts_.push_back(std::make_unique<GreenContext>(driver, handle, one));
  users_.resize(contexts_.size());
}

int DevicePartitions::take() {
  const std::lock_guard lock(mutex_);
  const auto least = std::ranges::min_element(users_);
  ++*least;
  return static_cast<int>(least - users_.begin());
}

void DevicePartitions::give_back(int index) {
  const std::lock_guard lock(mutex_);
  --users_[static_cast<std::size_t>(index)];
}

}  // namespace penstock::kernels::cuda
