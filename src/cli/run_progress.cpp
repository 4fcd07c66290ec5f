#include "run_progress.hpp"

#include <fmt/format.h>

#include "output.hpp"

namespace penstock::cli {
namespace {

std::string name(const report::CellResult& row) {
  const std::string setting = row.setting.empty() ? "" : " " + row.setting;
  return fmt::format("{} {} devices{} {}", row.model, row.devices, setting, row.planner);
}

/// Key that no other cell has.
std::string key(const report::CellResult& row) {
  return fmt::format("{}, mini-batch {} on {}", name(row), row.mini_batch, row.cluster);
}

}  // namespace

std::string progress_line(const report::CellResult& row, bool cached) {
  const std::string result =
      row.samples_per_s ? fmt::format("{:.1f} samples/s", *row.samples_per_s) : row.status;
  return fmt::format("{}: {}{}", name(row), result, cached ? " (cached)" : "");
}

RunProgress::RunProgress(std::size_t total)
    : terminal_(terminal_hears()), total_(total), thread_([this] { beat(); }) {}

RunProgress::~RunProgress() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  end_.notify_one();
  thread_.join();
  end_line_in_place();
}

void RunProgress::began(const report::CellResult& row) {
  const std::lock_guard lock(mutex_);
  under_way_.insert(key(row));
}

void RunProgress::done(std::size_t done, std::size_t total, const report::CellResult& row, bool cached) {
  const std::lock_guard lock(mutex_);
  done_ = done;
  total_ = total;
  run_ += !cached;
  under_way_.erase(key(row));
  last_ = Clock::now();
  show(progress_line(row, cached));
}

void RunProgress::beat() {
  constexpr std::chrono::seconds kPause(5), kLook(1);
  std::unique_lock lock(mutex_);
  while (!end_.wait_for(lock, kLook, [this] { return over_; })) {
    if (Clock::now() - last_ < kPause || under_way_.empty()) continue;
    last_ = Clock::now();
    show(under_way());
  }
}

/// A bar and the last word; or the word on a line of its own.
void RunProgress::show(const std::string& text) {
  if (!terminal_) {
    say(fmt::format("[{}/{}] {}\n", done_, total_, text));
    return;
  }
  constexpr std::size_t kWidth = 30;
  const std::size_t filled = done_ * kWidth / total_;
  say_in_place(fmt::format("[{}{}] {}/{}{} {}", std::string(filled, '#'), std::string(kWidth - filled, '.'),
                           done_, total_, time_left(), text),
               done_ == total_);
}

std::string RunProgress::under_way() const {
  const auto past = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin_).count();
  const std::string more = under_way_.size() > 1 ? fmt::format(" and {} more", under_way_.size() - 1) : "";
  return fmt::format("after {} s at work on {}{}", past, *under_way_.begin(), more);
}

/// Estimate: the cells to come take as long as the others did on average. Empty before the first result, and
/// at the end.
std::string RunProgress::time_left() const {
  const std::size_t left = total_ - done_;
  if (run_ == 0 || left == 0) return "";
  const double past = std::chrono::duration<double>(Clock::now() - begin_).count();
  const auto seconds =
      static_cast<std::int64_t>(past / static_cast<double>(run_) * static_cast<double>(left) + 0.5);
  if (seconds >= 3600) return fmt::format(", {} h {:02} min left:", seconds / 3600, seconds / 60 % 60);
  return fmt::format(", {}:{:02} left:", seconds / 60, seconds % 60);
}

}  // namespace penstock::cli
