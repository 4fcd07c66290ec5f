#pragma once
// Number of threads of a kernel. Debian's oneDNN runs on OpenMP, whose thread count is a setting of the
// calling thread; it is changed during a call.

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace penstock::kernels::host {

class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

constexpr std::int64_t kGrain = 1 << 14;  ///< number of elements below which a second thread does not pay

/// Runs body(i) for i in [0, count), distributed over the threads; each i has `weight` elements of work.
template <class Body>
void parallel_each(std::int64_t count, std::int64_t weight, const Body& body) {
#pragma omp parallel for schedule(static) if (count * weight > kGrain)
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

/// Runs body(begin, end) over [0, count) in as many pieces as there are threads.
template <class Body>
void parallel_ranges(std::int64_t count, const Body& body) {
  const std::int64_t pieces = count > kGrain ? omp_get_max_threads() : 1;
  const std::int64_t length = (count + pieces - 1) / pieces;
  parallel_each(pieces, length, [&](std::int64_t piece) {
    const std::int64_t begin = std::min(count, piece * length);
    body(begin, std::min(count, begin + length));
  });
}

}  // namespace penstock::kernels::host
