// The families beyond the classics: what their papers claim, on timed schedules.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/schedule_violations.hpp"
#include "penstock/sim/schedule_times.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::Picoseconds;
using schedule::kUnitStep;
using schedule::PassCosts;
using schedule::Schedule;
using schedule::ScheduleShape;

namespace {

/// Times of a full stage, in unit steps.
PassCosts full(double f, double b, double delay = 0) {
  const auto steps = [](double n) {
    return Picoseconds(std::llround(n * static_cast<double>(kUnitStep.value())));
  };
  return {steps(f), steps(b / 2), steps(b / 2), steps(delay)};
}

ScheduleShape shape(int ranks, int chunks, int micro_batches, int group = 0) {
  ScheduleShape out;
  out.ranks = ranks, out.chunks = chunks, out.micro_batches = micro_batches, out.group = group;
  return out;
}

sim::ScheduleTimes simulate(const Schedule& schedule, const PassCosts& full_stage) {
  return sim::simulate_schedule(schedule, sim::per_chunk(full_stage, schedule));
}
sim::ScheduleTimes simulate(const char* family, const ScheduleShape& shape, const PassCosts& full_stage) {
  return simulate(make_schedule(family, shape), full_stage);
}

/// Makespan beyond the work of one rank.
double bubble(const char* family, const ScheduleShape& shape, double f, double b, double delay = 0) {
  return simulate(family, shape, full(f, b, delay)).makespan / kUnitStep - shape.micro_batches * (f + b);
}

int most(const std::vector<int>& values) {
  return *std::max_element(values.begin(), values.end());
}
int least(const std::vector<int>& values) {
  return *std::min_element(values.begin(), values.end());
}

}  // namespace

TEST_CASE("kFkB: the bubble of 1F1B where k divides m, in k times its memory") {
  core::Random random(11);
  for (int trial = 0; trial < 300; ++trial) {
    const int p = random.between(1, 8), k = random.between(1, 6), m = k * random.between(1, 6);
    const double f = random.between(1, 40) * 0.125, b = random.between(1, 40) * 0.125;
    const ScheduleShape s = shape(p, 1, m, k);
    CAPTURE(p);
    CAPTURE(k);
    CAPTURE(m);
    CHECK(bubble("kfkb", s, f, b) == support::near((p - 1) * (f + b)));
    const auto live = simulate("kfkb", s, full(f, b)).peak_live;
    for (int r = 0; r < p; ++r) CHECK(live[static_cast<std::size_t>(r)] == std::min(m, k * (p - r)));
  }
  // k = 1 is 1F1B.
  CHECK(make_schedule("kfkb", shape(4, 1, 9, 1)) == make_schedule("1f1b", shape(4, 1, 9)));
}

TEST_CASE("sliced warm-up: half of the forwards that fill the pipeline, in the memory of 1F1B") {
  core::Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const int p = random.between(1, 8), m = p + random.between(0, 16);
    const double f = random.between(1, 40) * 0.125, b = random.between(1, 40) * 0.125;
    ScheduleShape s = shape(p, 1, m);
    s.costs = full(f, b);
    CAPTURE(p);
    CAPTURE(m);
    CAPTURE(f);
    CAPTURE(b);
    CHECK(bubble("sliced_1f1b", s, f, b) <= (p - 1) * (f + b) + 1e-9);
    // No more than half of the in-flight micro-batches are cut: the closed form.
    if (f <= b && m > p) CHECK(bubble("sliced_1f1b", s, f, b) == support::near((p - 1) * (f / 2 + b)));
    const auto live = simulate("sliced_1f1b", s, full(f, b)).peak_live;
    for (int r = 0; r < p; ++r) CHECK(live[static_cast<std::size_t>(r)] <= std::min(m, p - r));
  }
}

TEST_CASE("list order: no worse than 1F1B, within SPP's bound, and free of 1F1B's payment for delays") {
  core::Random random(6);
  for (int trial = 0; trial < 300; ++trial) {
    const int p = random.between(1, 8), m = random.between(1, 24);
    const double f = random.between(1, 40) * 0.125, b = random.between(1, 40) * 0.125,
                 c = random.between(0, 8) * 0.125;
    ScheduleShape s = shape(p, 1, m);
    s.costs = full(f, b, c);
    CHECK(bubble("list_order", s, f, b, c) <= bubble("1f1b", s, f, b, c) + 1e-9);
    s.costs = full(f, b);
    CHECK(bubble("list_order", s, f, b) <= (4 * p - 4) * (f + b) + 1e-9);
    s.memory_limit = random.between(1, p);
    const auto live = simulate("list_order", s, full(f, b)).peak_live;
    CHECK(most(live) <= *s.memory_limit);
  }
}

TEST_CASE("kFkB: a message has k passes' time to hide behind") {
  // Ada-Grouper's point: 1F1B pays the delay twice per round of p micro-batches, k = 2 only to fill and
  // drain.
  CHECK(bubble("1f1b", shape(4, 1, 16), 1, 1, 0.5) == 3 * 2 + 0.5 * (2 * 3 * (16 / 4 + 1) - 2));
  CHECK(bubble("kfkb", shape(4, 1, 16, 2), 1, 1, 0.5) == 3 * 2 + 0.5 * 2 * 3);
}

TEST_CASE("DAPPLE's policy B: the bubble of 1F1B, 2(p-r)-1 held, and a small delay paid only 2(p-1) times") {
  core::Random random(12);
  for (int trial = 0; trial < 300; ++trial) {
    const int p = random.between(1, 8), m = random.between(1, 30);
    const double f = random.between(1, 40) * 0.125, b = random.between(1, 40) * 0.125;
    const double delay = (f + b) / 2 * random.between(0, 8) / 8;
    CAPTURE(p);
    CAPTURE(m);
    CAPTURE(f);
    CAPTURE(b);
    CAPTURE(delay);
    CHECK(bubble("dapple", shape(p, 1, m), f, b) == support::near((p - 1) * (f + b)));
    CHECK(bubble("dapple", shape(p, 1, m), f, b, delay) == support::near((p - 1) * (f + b + 2 * delay)));
    const auto live = simulate("dapple", shape(p, 1, m), full(f, b)).peak_live;
    for (int r = 0; r < p; ++r) CHECK(live[static_cast<std::size_t>(r)] == std::min(m, 2 * (p - r) - 1));
  }
}

TEST_CASE("DAPPLE's policy B within a memory limit") {
  ScheduleShape s = shape(4, 1, 12);
  s.memory_limit = 3;
  CHECK(simulate("dapple", s, full(1, 1)).peak_live == std::vector<int>{3, 3, 3, 1});
  s.memory_limit = 1;  // one micro-batch at a time: no overlap at all
  CHECK(simulate("dapple", s, full(1, 1)).makespan / kUnitStep == 12 * 4 * 2);
}

TEST_CASE("BPipe: the time of 1F1B, no rank over ceil((p+2)/2)") {
  core::Random random(13);
  for (int trial = 0; trial < 300; ++trial) {
    const int p = random.between(1, 12), m = random.between(1, 40);
    const double f = random.between(1, 40) * 0.125, b = random.between(1, 40) * 0.125;
    CAPTURE(p);
    CAPTURE(m);
    const auto result = simulate("bpipe", shape(p, 1, m), full(f, b));
    CHECK(result.makespan == simulate("1f1b", shape(p, 1, m), full(f, b)).makespan);
    CHECK(most(result.peak_live) <= (p + 3) / 2);
    ScheduleShape tight = shape(p, 1, m);
    tight.memory_limit = (p + 3) / 2 - 1;
    CHECK_THROWS_AS(make_schedule("bpipe", tight), core::BadInput);
  }
  // Eight ranks held 8 to 1; now the first half parks 3, 2 and 1 on the last.
  CHECK(simulate("bpipe", shape(8, 1, 32), full(1, 1)).peak_live == std::vector<int>{5, 5, 5, 5, 4, 5, 5, 5});
}

TEST_CASE("BPipe: fetching one pass ahead hides a transfer shorter than a forward") {
  // Only what 1F1B pays for its own messages is paid.
  for (const int p : {4, 6, 8})
    CHECK(bubble("bpipe", shape(p, 1, 4 * p), 2, 4, 0.5) == bubble("1f1b", shape(p, 1, 4 * p), 2, 4, 0.5));
}

TEST_CASE("Chimera with 2f pipelines, F = B: bubble (p/f - 2)F, 2f copies, p - p/(2f) + 1 to p held") {
  for (const int p : {2, 4, 6, 8, 12, 16})
    for (int f = 1; f <= p / 2; ++f)
      for (const int units : {1, 2, 5}) {
        if (p / 2 % f != 0) continue;
        const int m = p * units;
        CAPTURE(p);
        CAPTURE(f);
        CAPTURE(m);
        const Schedule schedule = make_schedule("chimera", shape(p, 1, m, f));
        const auto result = simulate(schedule, full(1, 1));
        CHECK(schedule.copies == 2 * f);
        CHECK(schedule_violations(schedule, m / (2 * f)).empty());
        CHECK(result.makespan / kUnitStep - 2 * m == p / f - 2);
        // The paper's rate (D-2f)/(2fN+D-2f) counts one unit, N = D.
        if (units == 1)
          CHECK((result.makespan / kUnitStep - 2 * m) / (result.makespan / kUnitStep) ==
                support::near((p - 2.0 * f) / (2.0 * f * p + p - 2 * f)));
        CHECK(most(result.peak_live) == p);
        CHECK(least(result.peak_live) == p - p / (2 * f) + 1);
      }
}

TEST_CASE("Hanayo, p | m: bubble 2(p-1)/v (max(F, B) + (m/p - 1)|B - F|), so (p-1)(F+B)/v where F = B") {
  core::Random random(14);
  for (int trial = 0; trial < 120; ++trial) {
    const int p = random.between(1, 8), v = 2 * random.between(1, 4), units = random.between(1, 4);
    const double f = random.between(1, 40) * 0.125,
                 b = random.chance(0.3) ? f : random.between(1, 40) * 0.125;
    const double expected = 2.0 * (p - 1) / v * (std::max(f, b) + (units - 1) * std::abs(b - f));
    CAPTURE(p);
    CAPTURE(v);
    CAPTURE(units);
    CAPTURE(f);
    CAPTURE(b);
    CHECK(std::abs(bubble("hanayo", shape(p, v, units * p), f, b) - expected) <= 1e-10 + 1e-9 * expected);
    CHECK(most(simulate("hanayo", shape(p, v, units * p), full(f, b)).peak_live) <= p * v);
  }
}

TEST_CASE(
    "Hanayo where F = B: no worse than 1F1B for any m, better than Chimera from two waves on, without "
    "copies") {
  for (int p = 2; p <= 8; ++p)
    for (int m = 1; m <= 3 * p; ++m)
      for (const int v : {2, 4, 8}) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(v);
        CHECK(bubble("hanayo", shape(p, v, m), 1, 1) <= bubble("1f1b", shape(p, 1, m), 1, 1) + 1e-9);
        if (p % 2 == 0 && p > 2 && m % p == 0)
          CHECK((bubble("hanayo", shape(p, v, m), 1, 1) < bubble("chimera", shape(p, 1, m), 1, 1)) ==
                (v > 2));
      }
}
