#pragma once
// Memory that a piece of work takes (resident memory of the process), and a limit on it.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "penstock/core/units.hpp"

namespace penstock::core {

/// Resident memory of this process now; nothing if the system does not report it (only Linux does, proc(5)).
std::optional<Bytes> resident_memory();

/// Returns memory that the allocator keeps from earlier work, of all threads, to the system; glibc only.
void return_free_memory();

/// Largest growth of resident memory since construction. The Linux kernel keeps the peak: writing 5 to
/// clear_refs resets VmHWM (proc(5)). All threads count, so the figure belongs to one piece of work only if
/// no other work runs. The constructor first returns memory that the allocator kept, so that its reuse
/// counts.
class PeakMemory {
 public:
  PeakMemory();
  /// Returns nothing if the kernel does not report it.
  std::optional<Bytes> growth() const;

 private:
  std::optional<Bytes> before_;
};

/// During its lifetime, checks every few milliseconds if resident memory has grown by `limit` since
/// construction; if so, sets a flag that stays set. Never sets it if the system does not report memory. Two
/// watches at once count each other's memory.
class MemoryWatch {
 public:
  explicit MemoryWatch(Bytes limit);
  ~MemoryWatch();
  const std::atomic<bool>& full() const { return full_; }

 private:
  void watch(Bytes most);

  std::atomic<bool> full_{false};
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace penstock::core
