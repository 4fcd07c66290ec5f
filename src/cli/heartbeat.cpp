#include "heartbeat.hpp"

#include <fmt/format.h>

#include <chrono>

namespace penstock::cli {

Heartbeat::Heartbeat(std::string who) : thread_([this, name = std::move(who)] { beat(name); }) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  over_.notify_one();
  thread_.join();
}

void Heartbeat::beat(const std::string& who) {
  constexpr std::chrono::seconds kPause(5);
  std::unique_lock lock(mutex_);
  for (auto past = kPause; !over_.wait_for(lock, kPause, [this] { return done_; }); past += kPause)
    fmt::print(stderr, "{}: searching for {} s\n", who, past.count());
}

}  // namespace penstock::cli
