#pragma once
// A request to stop, passed by value through long work; no global is polled.

#include <atomic>
#include <chrono>

#include "penstock/core/error.hpp"
#include "penstock/core/units.hpp"

namespace penstock::core {

/// Refers to a flag owned by the caller (the command line sets it on Ctrl-C). May have limits: a deadline, a
/// flag set when memory is full, and a flag set when the user accepts the best result so far. Default: never
/// stops. Work that has a result when a limit is hit returns it instead of throwing.
class StopToken {
 public:
  using Clock = std::chrono::steady_clock;

  StopToken() = default;
  explicit StopToken(const std::atomic<bool>* flag) : flag_(flag) {}
  /// Returns a token with the same flag and a deadline `limit` from now, or the present deadline if earlier.
  StopToken within(Seconds limit) const;
  /// Returns a token that also stops once `full` is set (by MemoryWatch); `full` must not be reset
  /// afterwards.
  StopToken until_full(const std::atomic<bool>& full) const;
  /// Returns a token with the further limit `ended`: the command line sets it on Ctrl-C during a search.
  StopToken until_ended(const std::atomic<bool>& ended) const;
  /// Returns a token with the same flag and no limits: to finish the result of a search that hit one.
  StopToken without_limits() const { return StopToken(flag_); }

  bool interrupted() const { return set(flag_); }
  bool memory_full() const { return set(full_); }
  bool ended() const { return set(ended_); }
  /// True after the deadline. Reads the clock, so use it in loops whose steps take a microsecond or more.
  bool timed_out() const { return deadline_ != Clock::time_point::max() && Clock::now() >= deadline_; }
  bool limit_hit() const { return ended() || memory_full() || timed_out(); }
  bool requested() const { return interrupted() || limit_hit(); }
  /// Throws InterruptedError if a stop was requested; SearchEnded, MemoryFull or TimedOut if that limit was hit.
  void check() const {
    if (interrupted()) throw InterruptedError();
    if (limit_hit()) give_up();
  }
  /// Throws SearchEnded, MemoryFull or TimedOut for the limit that was hit before anything was found.
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
