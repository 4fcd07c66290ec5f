#pragma once
// Synchronisation of a replay's threads, and propagation of failures.

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "penstock/core/stop.hpp"
#include "penstock/core/units.hpp"

namespace penstock::replay {

/// Thrown in every thread once one has failed; never leaves the replay.
struct EndSignal {};

/// One lock for the state that the threads share. Every wait is bounded: it ends when a thread fails, when a
/// stop is requested, or when nothing has moved for `patience` while no thread was working.
class Monitor {
 public:
  Monitor(core::Seconds patience, core::StopToken stop) : patience_(patience), stop_(stop) {}

  core::Seconds now() const {  ///< time since construction
    return core::Seconds(std::chrono::duration<double>(Clock::now() - began_).count());
  }

  /// Result of a callback under the lock for state that changes with time: whether it changed anything, and
  /// when it must be called again.
  struct TickResult {
    bool changed = false;
    std::optional<core::Seconds> next{};
  };
  void on_tick(std::function<TickResult(core::Seconds)> tick) { tick_ = std::move(tick); }

  template <class Change>
  void change(const Change& change) {
    {
      const std::lock_guard lock(mutex_);
      change();
      moved_ = now();
    }
    wake_.notify_all();
  }

  /// Waits until ready(), called under the lock, is true; `awaited` describes the wait. Throws Ended.
  void wait(const std::function<bool()>& ready, const std::function<std::string()>& awaited) {
    wait_until(ready, &awaited);
  }
  /// Wait of a thread that is expected to idle: it uses up no patience.
  void idle(const std::function<bool()>& ready) { wait_until(ready, nullptr); }

  /// Runs `task`, during which no wait uses up patience.
  template <class Task>
  void work(const Task& task) {
    begin_work();
    try {
      task();
    } catch (...) {
      end_work();
      throw;
    }
    end_work();
  }

  /// Like wait(), for callers inside work(): waiting does not count as working.
  void wait_at_work(const std::function<bool()>& ready, const std::function<std::string()>& awaited);
  void sleep_until(core::Seconds moment);

  /// Stores a failure; the first one is thrown in the end.
  void fail(std::exception_ptr why);
  void rethrow() {
    if (const auto why = failure()) std::rethrow_exception(why);
  }
  std::exception_ptr failure() {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  // Functions for processes of one replay.

  /// True if any thread here is working or waiting for a running transfer, or has moved since.
  bool busy(core::Seconds since);
  /// Another process is working: waits here use up no patience.
  void others_move();
  /// Another process has ended, `how` in words: waits fail.
  void lose(std::string how);

 private:
  using Clock = std::chrono::steady_clock;

  void begin_work();
  void end_work();
  void wait_until(const std::function<bool()>& ready, const std::function<std::string()>* awaited);
  std::optional<core::Seconds> tick();
  void stop_if_asked();
  void give_up(const std::string& awaited, const std::string& why);

  const core::Seconds patience_;
  const core::StopToken stop_;
  const Clock::time_point began_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::function<TickResult(core::Seconds)> tick_;
  std::exception_ptr failure_;
  core::Seconds moved_{}, others_moved_{};
  std::string lost_;
  int at_work_ = 0;
};

}  // namespace penstock::replay
