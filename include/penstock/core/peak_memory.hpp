#pragma once
// How much memory a piece of work takes, as the process sees it, and a limit on it.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

#include "penstock/core/units.hpp"

namespace penstock::core {

/// Resident memory of this process now. Nothing where the system does not tell (only Linux does, proc(5)).
std::optional<Bytes> resident_memory();

/// Gives the system back what the allocator keeps of earlier work, of all threads; glibc only.
void return_free_memory();

/// The most by which resident memory has grown since construction. The Linux kernel keeps the peak itself:
/// writing 5 to clear_refs resets VmHWM (proc(5)). Counts all threads, so it says something of one piece of
/// work only while no other runs; memory that the allocator had kept from earlier work is given back first,
/// so that it counts when used again.
class PeakMemory {
 public:
  PeakMemory();
  /// Nothing where the kernel does not tell.
  std::optional<Bytes> growth() const;

 private:
  std::optional<Bytes> before_;
};

/// While it lives, looks every few milliseconds whether resident memory has grown by `limit` since
/// construction, and then sets a flag, for good. Where the system does not tell, never. Two at once see each
/// other's memory.
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
