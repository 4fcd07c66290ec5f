#include <cub/device/device_radix_sort.cuh>

#include "cuda/sort.hpp"
#include "cuda/status.hpp"

namespace penstock::kernels::cuda {

std::int64_t sort_workspace(std::int64_t count) {
  const std::int64_t* keys = nullptr;
  std::int64_t* sorted = nullptr;
  std::size_t bytes = 0;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, sorted, keys, sorted, count),
        "cub::DeviceRadixSort::SortPairs");
  return static_cast<std::int64_t>(bytes);
}

void sort_pairs(const LaunchQueue& queue, std::int64_t count, void* workspace, std::int64_t bytes,
                const std::int64_t* keys, std::int64_t* sorted_keys, const std::int64_t* values,
                std::int64_t* sorted_values) {
  auto size = static_cast<std::size_t>(bytes);
  check(cub::DeviceRadixSort::SortPairs(workspace, size, keys, sorted_keys, values, sorted_values, count, 0,
                                        64, queue.stream),
        "cub::DeviceRadixSort::SortPairs");
}

}  // namespace penstock::kernels::cuda
