#include "penstock/calibrate/sampling.hpp"

#include <algorithm>

namespace penstock::calibrate {
namespace {

// A clock without a finer step than this shows nothing below it.
constexpr double kLeastTime = 1e-12;

}  // namespace

void TimingSamples::add(core::Seconds time, core::Seconds spent) {
  times_.push_back(std::max(time.value(), kLeastTime));
  spent_ += spent.value();
}

bool TimingSamples::reject(core::Seconds spent) {
  if (rejected_ >= rule_.most_rejected) return false;
  ++rejected_;
  spent_ += spent.value();
  return true;
}

/// Checks only after every `least` timings: sorting takes time, and a criterion that is tried more often is
/// more often met by chance.
bool TimingSamples::settled() const {
  return std::ssize(times_) % rule_.least == 0 && noise(times_) <= rule_.noise;
}

bool TimingSamples::enough() const {
  if (times_.empty()) return false;
  if (spent_ >= rule_.most.value()) return true;
  return std::ssize(times_) >= rule_.least && (spent_ >= rule_.enough.value() || settled());
}

}  // namespace penstock::calibrate
