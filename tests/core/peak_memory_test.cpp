#include "penstock/core/peak_memory.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <memory>

#include "penstock/core/stop.hpp"
#include "support/skip.hpp"

using namespace penstock::core;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// Every page is written, so that it is resident.
std::unique_ptr<char[]> touched(std::size_t bytes) {
  auto block = std::make_unique_for_overwrite<char[]>(bytes);
  for (std::size_t i = 0; i < bytes; i += 1024) static_cast<volatile char&>(block[i]) = 1;
  return block;
}

/// ThreadSanitizer keeps several bytes beside each that is touched.
#ifdef __SANITIZE_THREAD__
constexpr bool kShadowed = true;
#else
constexpr bool kShadowed = false;
#endif

/// Only Linux does, and some containers hide it.
bool untold(bool told) {
  if (!told) penstock::support::skip("this system does not tell resident memory");
  if (kShadowed) penstock::support::skip("resident memory is mostly the sanitizer's");
  return !told || kShadowed;
}

}  // namespace

TEST_CASE("growth is what was added at the peak: neither what was there before nor what is left of it") {
  if (untold(resident_memory().has_value())) return;
  const auto before = touched(96 * kMiB);
  const PeakMemory peak;
  if (untold(peak.growth().has_value())) return;
  touched(64 * kMiB);  // and given back
  CHECK(peak.growth()->value() >=
        std::int64_t(63 * kMiB));  // each thread may owe the kernel's count some pages
  CHECK(peak.growth()->value() < std::int64_t(80 * kMiB));
  CHECK(PeakMemory().growth()->value() < std::int64_t(16 * kMiB));
}

TEST_CASE("a watch trips the token beyond its limit, for good, and not below it") {
  if (untold(resident_memory().has_value())) return;
  MemoryWatch watch(Bytes(64 * kMiB)), wide(Bytes(1024 * kMiB));
  const StopToken token = StopToken().until_full(watch.full()), other = StopToken().until_full(wide.full());
  const auto wait = [&](int milliseconds) {
    for (int i = 0; i < milliseconds && !token.requested(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  auto some = touched(32 * kMiB);
  wait(30);
  CHECK_NOTHROW(token.check());
  auto more = touched(64 * kMiB);
  wait(5000);
  some.reset(), more.reset();
  CHECK(token.memory_full());
  CHECK_THROWS_AS(token.check(), MemoryFull);
  CHECK_FALSE(other.requested());
}
