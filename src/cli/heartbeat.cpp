#include "heartbeat.hpp"

#include <fmt/format.h>

#include <chrono>

#include "output.hpp"

namespace penstock::cli {

Heartbeat::Heartbeat(std::string who, std::string does)
    : thread_([this, what = std::move(who) + ": " + std::move(does)] { beat(what); }) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  over_.notify_one();
  thread_.join();
}

void Heartbeat::tell(const std::string& progress) {
  const std::lock_guard lock(mutex_);
  progress_ = ": " + progress;
}

void Heartbeat::beat(const std::string& what) {
  constexpr std::chrono::seconds kPause(5);
  std::unique_lock lock(mutex_);
  for (auto past = kPause; !over_.wait_for(lock, kPause, [this] { return done_; }); past += kPause)
    say(fmt::format("{} {} s{}\n", what, past.count(), progress_));
}

}  // namespace penstock::cli
