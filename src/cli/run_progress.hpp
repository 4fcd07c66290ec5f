#pragma once
// How far an experiment is.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "penstock/experiment/run.hpp"

namespace penstock::cli {

/// "mmt 8 devices spp: 118.6 samples/s", or the status instead.
std::string progress_line(const report::CellResult& row, bool cached);

/// Progress on standard error: on a terminal a bar that redraws itself, with the time left; a line per cell
/// elsewhere. Where nothing was finished for five seconds it names what is under way. Called from any thread.
class RunProgress {
 public:
  explicit RunProgress(std::size_t total);
  ~RunProgress();

  void began(const report::CellResult& row);
  void done(std::size_t done, std::size_t total, const report::CellResult& row, bool cached);

 private:
  using Clock = std::chrono::steady_clock;
  void beat();
  void show(const std::string& line);
  std::string under_way() const;
  std::string time_left() const;

  const bool terminal_;
  const Clock::time_point begin_ = Clock::now();
  std::size_t total_, done_ = 0, run_ = 0;  ///< cells; of those done, not found in the cache
  std::set<std::string> under_way_;
  Clock::time_point last_ = begin_;  ///< when something was printed
  bool over_ = false;
  std::mutex mutex_;
  std::condition_variable end_;
  std::thread thread_;
};

}  // namespace penstock::cli
