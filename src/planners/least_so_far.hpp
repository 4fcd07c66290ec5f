#pragma once
// Time of the fastest plan so far, shared by parallel searches so that they can skip slower plans.

#include <atomic>
#include <limits>

#include "penstock/core/units.hpp"

namespace penstock::planners {

/// A search that skips only plans slower than this value never skips the overall fastest plan, nor an equal
/// one. So the result does not depend on the number of threads.
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
