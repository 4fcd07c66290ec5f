#include "penstock/calibrate/sampling.hpp"

#include <doctest/doctest.h>

using namespace penstock;
using calibrate::SamplingRule;
using calibrate::TimingSamples;

namespace {

/// How many timings it takes until it is enough; each takes `spent` and differs from 1 ms by up to `spread`.
int needed(const SamplingRule& rule, double spent, double spread) {
  TimingSamples samples(rule);
  int count = 0;
  while (!samples.enough()) {
    const double off = count % 2 == 0 ? spread : -spread;
    samples.add(core::Seconds(1e-3 * (1 + off)), core::Seconds(spent));
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("steady times are enough after the least number") {
  CHECK(needed({}, 1e-3, 0) == 10);
  CHECK(needed({}, 1e-3, 0.004) == 10);  // known to 0.4 %, within the rule's 0.5 %
}

TEST_CASE("noisy times go on until half a second is spent") {
  CHECK(needed({}, 1e-3, 0.1) == 500);
  CHECK(needed({}, 0.1, 0.1) == 10);  // a second is over, but ten there must be
}

TEST_CASE("a run too slow for ten timings ends at the cap") {
  CHECK(needed({}, 4, 0.1) == 4);  // 4 * 4 s >= 15 s, 3 * 4 s not
  CHECK(needed({}, 100, 0.1) == 1);
}

TEST_CASE("times spent on what is thrown away count, and only so many are") {
  SamplingRule rule;
  rule.most_rejected = 3;
  TimingSamples samples(rule);
  for (int i = 0; i < 3; ++i) CHECK(samples.reject(core::Seconds(7)));
  CHECK_FALSE(samples.reject(core::Seconds(7)));
  CHECK(samples.rejected() == 3);
  CHECK_FALSE(samples.enough());  // 21 s are over, but there is no timing yet
  samples.add(core::Seconds(1), core::Seconds(1));
  CHECK(samples.enough());
  CHECK(samples.timing().count == 1);
}

TEST_CASE("a time too short to see is not zero") {
  TimingSamples samples({});
  samples.add(core::Seconds(0), core::Seconds(0));
  CHECK(samples.timing().median.value() > 0);
}
