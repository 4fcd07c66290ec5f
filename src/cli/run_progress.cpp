#include "run_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>

namespace penstock::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::string line(const report::CellResult& row, bool cached) {
  const std::string setting = row.setting.empty() ? "" : " " + row.setting;
  const std::string result =
      row.samples_per_s ? fmt::format("{:.1f} samples/s", *row.samples_per_s) : row.status;
  return fmt::format("{} {} devices{} {}: {}{}", row.model, row.devices, setting, row.planner, result,
                     cached ? " (cached)" : "");
}

/// As if the cells to come took as long as the others did on average.
class TimeLeft {
 public:
  /// Call it once per cell done. Empty while nothing is known, and at the end.
  std::string after(bool cached, std::size_t left) {
    if (!cached) ++run_;
    if (run_ == 0 || left == 0) return "";
    const double past = std::chrono::duration<double>(Clock::now() - begin_).count();
    const auto seconds =
        static_cast<std::int64_t>(past / static_cast<double>(run_) * static_cast<double>(left) + 0.5);
    if (seconds >= 3600) return fmt::format("{} h {:02} min left ", seconds / 3600, seconds / 60 % 60);
    return fmt::format("{}:{:02} left ", seconds / 60, seconds % 60);
  }

 private:
  Clock::time_point begin_ = Clock::now();
  std::size_t run_ = 0;
};

}  // namespace

experiment::Progress run_progress() {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  return [terminal, time = TimeLeft()](std::size_t done, std::size_t total, const report::CellResult& row,
                                       bool cached) mutable {
    if (!terminal) {
      fmt::print(stderr, "[{}/{}] {}\n", done, total, line(row, cached));
      return;
    }
    constexpr std::size_t kWidth = 30;
    const std::size_t filled = done * kWidth / total;
    fmt::print(stderr, "\r\033[K[{}{}] {}/{} {}{}{}", std::string(filled, '#'),
               std::string(kWidth - filled, '.'), done, total, time.after(cached, total - done),
               line(row, cached).substr(0, 60), done == total ? "\n" : "");
  };
}

}  // namespace penstock::cli
