#pragma once
// Messages of working threads to Python, delivered by the thread that waits for them.

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace penstock::python {

class PendingEvents {
 public:
  /// From any thread.
  void add(std::function<void()> event) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(event));
  }
  /// Calls all that were added, in order; by a thread that holds the interpreter's lock.
  void hand_over() {
    std::vector<std::function<void()>> events;
    {
      const std::lock_guard lock(mutex_);
      events.swap(waiting_);
    }
    for (const auto& event : events) event();
  }

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> waiting_;
};

}  // namespace penstock::python
