#include "refusals.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <new>
#include <set>

#include "allocations.hpp"

namespace penstock::faults {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::int64_t allocations_of(const std::function<std::string()>& work) {
  const MemoryScarcity none(kNever, false);
  work();
  return none.asked();
}

std::set<std::int64_t> moments(std::int64_t all, std::int64_t samples) {
  std::set<std::int64_t> out;
  for (std::int64_t n = 1; n <= std::min(all, samples); ++n) out.insert(n);
  for (std::int64_t i = 0; i < samples; ++i) out.insert(1 + (all - 1) * i / samples);
  return out;
}

/// How a run ended; without memory of its own while memory is scarce.
struct RunEnd {
  bool out_of_memory = false;
  char other[160] = "";
  std::string answer{};
};

void run_short(const std::function<std::string()>& work, std::int64_t n, bool for_good, RunEnd& end) {
  const MemoryScarcity scarcity(n, for_good);
  try {
    end.answer = work();
  } catch (const std::bad_alloc&) {
    end.out_of_memory = true;
  } catch (const std::exception& e) {
    std::snprintf(end.other, sizeof end.other, "%s", e.what());
  }
}

}  // namespace

void refuse_each(const std::function<std::string()>& work, std::int64_t samples) {
  const std::string expected = work();  // also what a program makes once for all
  for (const std::int64_t n : moments(allocations_of(work), samples))
    for (const bool for_good : {false, true}) {
      const std::int64_t before = live_blocks();
      RunEnd end;
      run_short(work, n, for_good, end);
      const std::int64_t after = live_blocks() - (end.answer.capacity() > std::string().capacity());
      CAPTURE(n);
      CAPTURE(for_good);
      CHECK(after == before);
      CHECK(std::string(end.other).empty());
      if (!end.out_of_memory && end.other[0] == '\0') CHECK(end.answer == expected);
    }
}

}  // namespace penstock::faults
