#pragma once
// A sign of life on standard error while something takes long.

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace penstock::cli {

/// While it lives, every five seconds, and as soon as it was told something: "graphpipe: searching for 10 s",
/// or what else is done; and behind it what it was told last, "graphpipe: searching for 10 s: half of it". On
/// a terminal one line, every second, which is gone at the end.
class Heartbeat {
 public:
  explicit Heartbeat(std::string who, std::string does = "searching for");
  ~Heartbeat();

  /// From any thread.
  void tell(const std::string& progress);

 private:
  void beat(const std::string& what);
  void show(const std::string& text);

  std::mutex mutex_;
  std::condition_variable over_;
  bool terminal_, line_open_ = false;
  bool done_ = false;
  std::string progress_;  ///< empty: nothing was told
  std::thread thread_;
};

}  // namespace penstock::cli
