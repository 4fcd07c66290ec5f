#include "run/monitor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "penstock/core/error.hpp"

namespace penstock::replay {
namespace {

constexpr core::Seconds kBetweenChecks{0.02};  // interval of checks for a stop

std::chrono::duration<double> duration(core::Seconds time) {
  return std::chrono::duration<double>(time.value());
}

}  // namespace

void Monitor::fail(std::exception_ptr why) {
  change([&] {
    if (!failure_) failure_ = std::move(why);
  });
}

void Monitor::stop_if_asked() {
  try {
    stop_.check();
  } catch (...) {
    if (!failure_) failure_ = std::current_exception();
  }
  if (!failure_) return;
  wake_.notify_all();
  throw EndSignal{};
}

void Monitor::begin_work() {
  const std::lock_guard lock(mutex_);
  stop_if_asked();
  ++at_work_;
}

void Monitor::end_work() {
  const std::lock_guard lock(mutex_);
  --at_work_;
  moved_ = now();
}

void Monitor::wait_at_work(const std::function<bool()>& ready, const std::function<std::string()>& awaited) {
  end_work();
  try {
    wait(ready, awaited);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    ++at_work_;  // matches the decrement at the end of the work
    throw;
  }
  begin_work();
}

void Monitor::sleep_until(core::Seconds moment) {
  for (core::Seconds left = moment - now(); left.value() > 0; left = moment - now()) {
    std::this_thread::sleep_for(duration(std::min(left, kBetweenChecks)));
    const std::lock_guard lock(mutex_);
    stop_if_asked();
  }
}

std::optional<core::Seconds> Monitor::tick() {
  if (!tick_) return {};
  const TickResult ticked = tick_(now());
  if (!ticked.changed) return ticked.next;
  moved_ = now();
  wake_.notify_all();
  return ticked.next;
}

bool Monitor::busy(core::Seconds since) {
  const std::lock_guard lock(mutex_);
  return at_work_ > 0 || moved_ >= since || tick();
}

void Monitor::others_move() {
  const std::lock_guard lock(mutex_);
  others_moved_ = now();
}

void Monitor::lose(std::string how) {
  {
    const std::lock_guard lock(mutex_);
    lost_ = std::move(how);
  }
  wake_.notify_all();
}

void Monitor::give_up(const std::string& awaited, const std::string& why) {
  failure_ = std::make_exception_ptr(core::Error(core::ExitCode::device_failed, awaited + "; " + why));
  wake_.notify_all();
  throw EndSignal{};
}

void Monitor::wait_until(const std::function<bool()>& ready, const std::function<std::string()>* awaited) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto next = tick();
    stop_if_asked();
    if (ready()) return;
    if (awaited != nullptr && !lost_.empty()) give_up((*awaited)(), lost_);
    if (awaited != nullptr && at_work_ == 0 && !next && now() - std::max(moved_, others_moved_) > patience_)
      give_up((*awaited)(), fmt::format("nothing has moved for {:.3g} s", patience_.value()));
    const core::Seconds time = now();
    const core::Seconds pause = next ? std::min(kBetweenChecks, *next - time) : kBetweenChecks;
    if (pause.value() > 0) wake_.wait_for(lock, duration(pause));
  }
}

}  // namespace penstock::replay
