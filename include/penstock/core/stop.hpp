#pragma once
// A request to stop, carried by value through long work; nothing polls a global.

#include <atomic>
#include <chrono>

#include "penstock/core/error.hpp"
#include "penstock/core/units.hpp"

namespace penstock::core {

/// Refers to a flag owned by the caller (the command line sets it on Ctrl-C), and may have limits: a
/// deadline, a flag that says memory is full, a flag that the user is content with the best so far. Default:
/// never stops. Work that has something to show when a limit is hit returns it instead of throwing.
class StopToken {
 public:
  using Clock = std::chrono::steady_clock;

  StopToken() = default;
  explicit StopToken(const std::atomic<bool>* flag) : flag_(flag) {}
  /// A token of the same flag, with a deadline that much from now, or the own one if that is earlier.
  StopToken within(Seconds limit) const;
  /// A token that also stops once `full` is set (MemoryWatch does), and must not be reset then.
  StopToken until_full(const std::atomic<bool>& full) const;
  /// A token for which `ended` is one more limit: the command line sets it on Ctrl-C in a search.
  StopToken until_ended(const std::atomic<bool>& ended) const;
  /// A token of the same flag and no limit: to finish what a search found until one.
  StopToken without_limits() const { return StopToken(flag_); }

  bool interrupted() const { return set(flag_); }
  bool memory_full() const { return set(full_); }
  bool ended() const { return set(ended_); }
  /// The deadline is over. Reads the clock: for loops whose steps take a microsecond or more.
  bool timed_out() const { return deadline_ != Clock::time_point::max() && Clock::now() >= deadline_; }
  bool limit_hit() const { return ended() || memory_full() || timed_out(); }
  bool requested() const { return interrupted() || limit_hit(); }
  /// Throws Interrupted when a stop was requested, SearchEnded, MemoryFull or TimedOut when that limit is
  /// hit.
  void check() const {
    if (interrupted()) throw Interrupted();
    if (limit_hit()) give_up();
  }
  /// Throws SearchEnded, MemoryFull or TimedOut: a limit was hit before anything was found.
  [[noreturn]] void give_up() const;

 private:
  static bool set(const std::atomic<bool>* flag) {
    return flag != nullptr && flag->load(std::memory_order_relaxed);
  }

  const std::atomic<bool>* flag_ = nullptr;
  const std::atomic<bool>* full_ = nullptr;
  const std::atomic<bool>* ended_ = nullptr;
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace penstock::core
