#include "host/stream.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "host/threads.hpp"
#include "penstock/core/error.hpp"

namespace penstock::kernels::host {
namespace {

using Clock = std::chrono::steady_clock;

/// Bytes to sweep through: twice the last cache. A larger cache is shared by many cores.
constexpr long kLeastSweep = 64 << 20, kMostSweep = 256 << 20;
constexpr std::int64_t kLine = 64;  ///< bytes; changing one loads the whole line

std::size_t sweep_size() {
#ifdef _SC_LEVEL3_CACHE_SIZE
  const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#else
  const long cache = 0;
#endif
  return static_cast<std::size_t>(std::clamp(2 * cache, kLeastSweep, kMostSweep));
}

class HostEvent : public Event {
 public:
  core::Seconds since(const Event& earlier) const override {
    const auto* other = dynamic_cast<const HostEvent*>(&earlier);
    core::require(other != nullptr, "events come from one backend");
    return core::Seconds(std::chrono::duration<double>(time_ - other->time_).count());
  }
  bool reached() const override { return true; }

 private:
  Clock::time_point time_ = Clock::now();
};

class HostStream : public Stream {
 public:
  explicit HostStream(int threads) : threads_(threads) {}
  std::unique_ptr<Event> record_event() override { return std::make_unique<HostEvent>(); }
  void wait(const Event&) override {}
  void synchronise() override {}
  void evict_caches() override;
  std::function<void()> bundle(int copies, const std::function<void()>& body) override {
    return [copies, body] {
      for (int i = 0; i < copies; ++i) body();
    };
  }

 private:
  int threads_;
  std::vector<char> sweep_;
};

void HostStream::evict_caches() {
  const ThreadCount lent(threads_);
  if (sweep_.empty()) sweep_.resize(sweep_size());
  parallel_ranges(std::ssize(sweep_) / kLine, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) ++sweep_[static_cast<std::size_t>(line * kLine)];
  });
}

}  // namespace

std::unique_ptr<Stream> make_host_stream(int threads) {
  return std::make_unique<HostStream>(threads);
}

}  // namespace penstock::kernels::host
