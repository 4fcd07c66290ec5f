#pragma once
// Kernels on a queue. Compiled by nvcc they run on the device. Compiled by any other compiler they run
// immediately, as plain loops on the host, so that tests can check their arithmetic without a device.

#include <algorithm>
#include <cstdint>

#include "both_sides.hpp"
#include "cuda/queue.hpp"

namespace penstock::kernels::cuda {

#ifdef __CUDACC__

void check_launch();  ///< throws core::Error if the last launch failed

constexpr int kThreads = 256, kWarp = 32;
constexpr std::int64_t kMostBlocks = 1 << 16;

/// Threads that share one row. All of them make the same calls of sum and largest.
class RowThreads {
 public:
  PENSTOCK_DEVICE explicit RowThreads(float* shared) : shared_(shared) {}
  PENSTOCK_DEVICE int rank() const { return static_cast<int>(threadIdx.x); }
  PENSTOCK_DEVICE int size() const { return kThreads; }
  /// Sum of all threads' values, in a fixed order; every thread gets it.
  PENSTOCK_DEVICE float sum(float value) const {
    for (int step = kWarp / 2; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
    share(value);
    float total = 0;
    for (int warp = 0; warp < kThreads / kWarp; ++warp) total += shared_[warp];
    __syncthreads();  // before the next use of `shared_`
    return total;
  }
  PENSTOCK_DEVICE float largest(float value) const {
    for (int step = kWarp / 2; step > 0; step /= 2)
      value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
    share(value);
    float most = shared_[0];
    for (int warp = 1; warp < kThreads / kWarp; ++warp) most = fmaxf(most, shared_[warp]);
    __syncthreads();
    return most;
  }

 private:
  PENSTOCK_DEVICE void share(float value) const {
    if (threadIdx.x % kWarp == 0) shared_[threadIdx.x / kWarp] = value;
    __syncthreads();
  }
  float* shared_;
};

template <class Body>
__global__ void __launch_bounds__(kThreads) each_kernel(std::int64_t count, Body body) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step)
    body(i);
}

template <class Body>
__global__ void __launch_bounds__(kThreads) team_kernel(std::int64_t count, Body body) {
  __shared__ float shared[kThreads / kWarp];
  const RowThreads team(shared);
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x) body(team, i);
}

/// Runs body(i) for i in [0, count), one thread each.
template <class Body>
void each(const LaunchQueue& queue, std::int64_t count, const Body& body) {
  const auto blocks = static_cast<unsigned>(std::min(kMostBlocks, (count + kThreads - 1) / kThreads));
  each_kernel<<<blocks, kThreads, 0, queue.stream>>>(count, body);
  check_launch();
}

/// Runs body(team, i) for i in [0, count), one team each.
template <class Body>
void each_by_team(const LaunchQueue& queue, std::int64_t count, const Body& body) {
  const auto blocks = static_cast<unsigned>(std::min(kMostBlocks, count));
  team_kernel<<<blocks, kThreads, 0, queue.stream>>>(count, body);
  check_launch();
}

#else

class RowThreads {
 public:
  int rank() const { return 0; }
  int size() const { return 1; }
  float sum(float value) const { return value; }
  float largest(float value) const { return value; }
};

template <class Body>
void each(const LaunchQueue&, std::int64_t count, const Body& body) {
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

template <class Body>
void each_by_team(const LaunchQueue&, std::int64_t count, const Body& body) {
  for (std::int64_t i = 0; i < count; ++i) body(RowThreads(), i);
}

#endif

}  // namespace penstock::kernels::cuda
