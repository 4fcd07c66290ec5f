#pragma once
// A sign of life on standard error while something takes long.

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace penstock::cli {

/// Reports work in progress every five seconds while it lives, and at once when it gets a message. A report
/// is "graphpipe: searching for 10 s", or what else is done. The last message, if any, follows: "graphpipe:
/// searching for 10 s: half of it". On a terminal one line, every second, which is gone at the end.
class ProgressReporter {
 public:
  explicit ProgressReporter(std::string who, std::string does = "searching for");
  ~ProgressReporter();

  /// From any thread.
  void tell(const std::string& progress);

 private:
  void beat(const std::string& what);
  void show(const std::string& text);

  std::mutex mutex_;
  std::condition_variable over_;
  bool terminal_, line_open_ = false;
  bool done_ = false;
  std::string progress_;  ///< empty: no message yet
  std::thread thread_;
};

}  // namespace penstock::cli
