#pragma once
// What searches side by side spare each other: plans slower than the fastest that one of them has.

#include <atomic>
#include <limits>

#include "penstock/core/units.hpp"

namespace penstock::planners {

/// Whoever leaves out what takes longer than this, whenever it asks, leaves out no plan that may be the
/// fastest of all, nor one as fast: the answer is the same for any number of threads.
class LeastSoFar {
 public:
  core::Seconds seconds() const { return core::Seconds(least_); }
  void lower(core::Seconds to) {
    for (double known = least_; to.value() < known && !least_.compare_exchange_weak(known, to.value());) {
    }
  }

 private:
  std::atomic<double> least_ = std::numeric_limits<double>::infinity();
};

}  // namespace penstock::planners
