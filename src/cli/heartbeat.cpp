#include "heartbeat.hpp"

#include <fmt/format.h>

#include <chrono>

#include "output.hpp"

namespace penstock::cli {

ProgressReporter::ProgressReporter(std::string who, std::string does)
    : terminal_(terminal_hears()),
      thread_([this, what = std::move(who) + ": " + std::move(does)] { beat(what); }) {}

ProgressReporter::~ProgressReporter() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  over_.notify_one();
  thread_.join();
  if (line_open_) say_in_place("", false);
}

void ProgressReporter::tell(const std::string& progress) {
  const std::lock_guard lock(mutex_);
  progress_ = ": " + progress;
}

void ProgressReporter::beat(const std::string& what) {
  constexpr std::chrono::seconds kPause(5), kLook(1);
  std::unique_lock lock(mutex_);
  bool news = false;  // was shown
  for (auto past = kLook; !over_.wait_for(lock, kLook, [this] { return done_; }); past += kLook) {
    const bool first = !news && !progress_.empty();
    if (!terminal_ && !first && past % kPause != std::chrono::seconds(0)) continue;
    news = news || first;
    show(fmt::format("{} {} s{}", what, past.count(), progress_));
  }
}

void ProgressReporter::show(const std::string& text) {
  line_open_ = terminal_;
  terminal_ ? say_in_place(text, false) : say(text + "\n");
}

}  // namespace penstock::cli
