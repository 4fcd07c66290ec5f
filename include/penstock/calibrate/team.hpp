#pragma once
// Threads that work side by side, each with its own view of a device.

#include <functional>
#include <memory>

namespace penstock::calibrate {

/// `ranks` threads; the first is the caller's.
class ThreadTeam {
 public:
  explicit ThreadTeam(int ranks);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Calls work(rank) on all threads at once. Returns when all are done, and throws the first exception. A
  /// failed rank must not keep others waiting in `meet`: only work that cannot fail half-way meets.
  void run(const std::function<void(int)>& work);
  /// All ranks call this inside `work`: returns when all have called it.
  void meet();
  int ranks() const;

 private:
  struct Threads;
  std::unique_ptr<Threads> threads_;
};

/// Repeats `body` on a thread of its own while it lives; the destructor waits for the last repetition.
class BackgroundLoop {
 public:
  explicit BackgroundLoop(std::function<void()> body);
  ~BackgroundLoop();
  BackgroundLoop(const BackgroundLoop&) = delete;
  BackgroundLoop& operator=(const BackgroundLoop&) = delete;

 private:
  struct Thread;
  std::unique_ptr<Thread> thread_;
};

}  // namespace penstock::calibrate
