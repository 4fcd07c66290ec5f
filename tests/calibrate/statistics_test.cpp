#include "penstock/calibrate/statistics.hpp"

#include <doctest/doctest.h>

#include "support/near.hpp"

using namespace penstock;
using calibrate::summarise;

TEST_CASE("a summary does not depend on the order of its times") {
  const cost::TimingSummary t = summarise({3, 1, 2, 5, 4});
  CHECK(t.median.value() == 3);
  CHECK(t.p10.value() == support::near(1.4));  // position 0.4
  CHECK(t.p90.value() == support::near(4.6));
  CHECK(t.count == 5);
  CHECK(t.low.value() == 1);
  CHECK(t.high.value() == 5);
}

TEST_CASE("a single time is its own interval") {
  const cost::TimingSummary t = summarise({2.5});
  for (const core::Seconds s : {t.median, t.p10, t.p90, t.low, t.high}) CHECK(s.value() == 2.5);
}
