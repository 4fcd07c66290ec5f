#include "penstock/cost/envelope.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "penstock/core/random.hpp"

using namespace penstock;
using core::Bytes;
using cost::MemoryEnvelope;
using cost::MemoryLine;

namespace {

MemoryLine line(std::int64_t fixed, std::int64_t each) {
  return {Bytes(fixed), Bytes(each)};
}

Bytes most(const std::vector<MemoryLine>& lines, std::int64_t samples) {
  Bytes out;
  for (const MemoryLine& l : lines) out = std::max(out, l.at(samples));
  return out;
}

}  // namespace

TEST_CASE("an envelope keeps the lines that are the most somewhere") {
  MemoryEnvelope e;
  CHECK(e.at(7) == Bytes(0));
  e.raise(line(10, 1));
  e.raise(line(0, 3));  // 10 + n and 3 n meet at n = 5
  e.raise(line(4, 2));  // 4 + 2 n: 14 at n = 5, where the others have 15
  e.raise(line(9, 1));  // below the first
  CHECK(e.lines().size() == 2);
  CHECK(e.at(4) == Bytes(14));
  CHECK(e.at(6) == Bytes(18));
  e.raise(line(6, 2));  // 16 at n = 5
  CHECK(e.lines().size() == 3);
  CHECK(e.at(5) == Bytes(16));
  e.raise(line(10, 3));  // above all
  CHECK(e.lines().size() == 1);
}

TEST_CASE("random envelopes: the most of all lines, or a little more where there are too many") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    MemoryEnvelope e;
    std::vector<MemoryLine> lines;
    const std::int64_t count = random.between(1, 40);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t each = random.between(0, 100);  // most of them near a curve, so that many count
      lines.push_back(line((100 - each) * (100 - each) + random.between(0, 5), each));
      e.raise(lines.back());
    }
    for (std::int64_t n = 0; n < 220; ++n) {
      CHECK(e.at(n) >= most(lines, n));
      CHECK(e.at(n).value() <= 1.25 * most(lines, n).value());
      if (count <= 4) CHECK(e.at(n) == most(lines, n));
    }
    CHECK(e.lines().size() <= MemoryEnvelope::kLines);
  }
}
