#include "penstock/core/peak_memory.hpp"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>

namespace penstock::core {
namespace {

/// Value of a line of /proc/self/status, which counts KiB.
std::optional<Bytes> status(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    std::int64_t kib = 0;
    if (line.starts_with(key) && std::istringstream(line.substr(key.size())) >> kib) return Bytes(kib * 1024);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Bytes> resident_memory() {
  return status("VmRSS:");
}

void return_free_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

PeakMemory::PeakMemory() {
  return_free_memory();
  std::ofstream out("/proc/self/clear_refs");
  if (out << 5 << std::flush) before_ = resident_memory();
}

std::optional<Bytes> PeakMemory::growth() const {
  const auto peak = status("VmHWM:");
  if (!before_ || !peak) return std::nullopt;
  return std::max(*peak - *before_, Bytes(0));
}

MemoryWatch::MemoryWatch(Bytes limit) {
  return_free_memory();
  const auto now = resident_memory();
  full_ = now && limit <= Bytes(0);
  if (now && !full_) thread_ = std::thread([this, most = *now + limit] { watch(most); });
}

MemoryWatch::~MemoryWatch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  over_.notify_one();
  thread_.join();
}

void MemoryWatch::watch(Bytes most) {
  constexpr std::chrono::milliseconds kPause(5);
  std::unique_lock lock(mutex_);
  while (!full_ && !over_.wait_for(lock, kPause, [this] { return done_; }))
    full_ = resident_memory().value_or(Bytes(0)) >= most;
}

}  // namespace penstock::core
