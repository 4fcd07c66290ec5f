#include "penstock/core/thread_limit.hpp"

#include <oneapi/tbb/global_control.h>

namespace penstock::core {

/// Constructed in place: a copy of oneTBB's control would end with the first of the two.
struct ThreadLimit::Control {
  explicit Control(int threads)
      : limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)) {}
  tbb::global_control limit;
};

ThreadLimit::ThreadLimit(int threads) {
  if (threads > 0) control_ = std::make_unique<Control>(threads);
}
ThreadLimit::~ThreadLimit() = default;

}  // namespace penstock::core
