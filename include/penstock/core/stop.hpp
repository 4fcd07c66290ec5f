#pragma once
// A request to stop, carried by value through long work; nothing polls a global.

#include <atomic>
#include <chrono>

#include "penstock/core/error.hpp"
#include "penstock/core/units.hpp"

namespace penstock::core {

/// Refers to a flag owned by the caller (the command line sets it on Ctrl-C), and may have a deadline.
/// Default: never stops. Work that has something to show when the deadline comes returns it instead of
/// throwing.
class StopToken {
 public:
  using Clock = std::chrono::steady_clock;

  StopToken() = default;
  explicit StopToken(const std::atomic<bool>* flag) : flag_(flag) {}
  /// The same flag, with a deadline that much from now, or the own one if that is earlier.
  StopToken within(Seconds limit) const;

  bool interrupted() const { return flag_ != nullptr && flag_->load(std::memory_order_relaxed); }
  /// The deadline is over. Reads the clock: for loops whose steps take a microsecond or more.
  bool timed_out() const { return deadline_ != Clock::time_point::max() && Clock::now() >= deadline_; }
  bool requested() const { return interrupted() || timed_out(); }
  /// Throws Interrupted when a stop was requested, TimedOut when the deadline is over.
  void check() const {
    if (interrupted()) throw Interrupted();
    if (timed_out()) throw TimedOut();
  }

 private:
  const std::atomic<bool>* flag_ = nullptr;
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace penstock::core
