#include "penstock/sim/schedule_times.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/core/random.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/schedule_csv.hpp"
#include "src/sim/live_stages.hpp"
#include "support/near.hpp"
#include "support/reference_data.hpp"

using namespace penstock;
using core::Picoseconds;
using schedule::kUnitStep;
using schedule::PassCosts;
using schedule::Schedule;

namespace {

Picoseconds unit_steps(double steps) {
  return Picoseconds(static_cast<std::int64_t>(steps * static_cast<double>(kUnitStep.value()) + 0.5));
}

/// Times of a full stage, in unit steps.
PassCosts full(double f, double i, double w, double delay) {
  return {unit_steps(f), unit_steps(i), unit_steps(w), unit_steps(delay)};
}

Schedule make(const std::string& family, int ranks, int chunks, int micro_batches,
              const PassCosts& costs = {}) {
  schedule::ScheduleShape shape;
  shape.ranks = ranks;
  shape.chunks = chunks;
  shape.micro_batches = micro_batches;
  shape.costs = costs;
  return schedule::make_schedule(family, shape);
}

sim::ScheduleTimes simulate(const Schedule& schedule, const PassCosts& full_stage) {
  return sim::simulate_schedule(schedule, sim::per_chunk(full_stage, schedule));
}

double steps(Picoseconds time) {
  return time / kUnitStep;
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b));
}

}  // namespace

TEST_CASE("1F1B on two ranks, by hand") {
  //   F0 F1 .. B0B0 F2 .. B1B1 ..      rank 0: F 1, B 2 steps
  //      F0 B0B0 F1 B1B1 F2 B2B2       rank 1
  // Rank 1 is busy from 1 to 10; then B2 on rank 0 takes until 12.
  const auto result = simulate(make("1f1b", 2, 1, 3), full(1, 1, 1, 0));
  CHECK(steps(result.makespan) == 12);
  CHECK(steps(result.longest_rank_span) == 12);
  CHECK(result.bubble_rate == support::near(3.0 / 12));
  CHECK(result.peak_live == std::vector<int>{2, 1});
  CHECK(steps(result.idle[0]) == 3);
  CHECK(steps(result.idle[1]) == 0);
  CHECK(steps(result.times[1][0].start) == 1);
}

TEST_CASE("a delay counts between ranks only; a receive waits, a send does not") {
  // Stages 0 and 1 on rank 0, stage 2 on rank 1: F0, F1, wait, F2, B2, wait, B1, B0.
  const auto v = schedule::parse_schedule("0F0,1F0,1B0,0B0\n2F0,2B0\n", "g");
  CHECK(steps(sim::simulate_schedule(v, {kUnitStep, kUnitStep, kUnitStep, unit_steps(0.25)}).makespan) ==
        9.5);
  const auto messages = schedule::parse_schedule(
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
      "g");
  const auto bare = schedule::parse_schedule("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", "g");
  const PassCosts late{kUnitStep, kUnitStep, kUnitStep, unit_steps(0.5)};
  CHECK(sim::simulate_schedule(messages, late).makespan == sim::simulate_schedule(bare, late).makespan);
}

TEST_CASE("an overlapped pair takes F + B and ends both at once") {
  const auto pair = schedule::parse_schedule("1F0,(0F0;1B0)OVERLAP_F_B,0B0", "g");
  auto chained = pair;
  chained.copies = 2;  // two models of one stage: neither waits for the other
  const auto result = sim::simulate_schedule(chained, {});
  CHECK(steps(result.makespan) == 1 + 3 + 2);
  CHECK(result.peak_live == std::vector<int>{2});
}

TEST_CASE("a recomputation takes a forward's time by default; its micro-batch holds nothing before") {
  // F0 F1 R0 B0B0 R1 B1B1: 2 + 2 x (1 + 2) steps; one activation at a time instead of two.
  const auto schedule = schedule::parse_schedule("0F0,0F1,0R0,0B0,0R1,0I1,0W1", "g");
  CHECK(steps(sim::simulate_schedule(schedule, {}).makespan) == 8);
  CHECK(sim::simulate_schedule(schedule, {}).peak_live == std::vector<int>{1});
  PassCosts costs;
  costs.recompute = unit_steps(0.5);
  CHECK(steps(sim::simulate_schedule(schedule, costs).makespan) == 7);
  // Only the second is recomputed: the first is held from its forward on.
  CHECK(sim::simulate_schedule(schedule::parse_schedule("0F0,0F1,0B0,0R1,0B1", "g"), {}).peak_live ==
        std::vector<int>{1});
  CHECK(sim::simulate_schedule(schedule::parse_schedule("0F0,0F1,0R1,0B0,0B1", "g"), {}).peak_live ==
        std::vector<int>{2});
}

TEST_CASE("evicted tensors lie on the partner; loading takes the delay, and computing goes on") {
  // Rank 0:   F0 (evict 0) F1 (load 0) . . . B0        Rank 1 is a pipeline of its own, F0 B0 F1 B1.
  auto schedule = schedule::parse_schedule("0F0,0EVICT0,0F1,0LOAD0,0B0,0B1\n1F0,1B0,1F1,1B1\n", "g");
  schedule.copies = 2;
  PassCosts costs;
  const auto quick = sim::simulate_schedule(schedule, costs);
  CHECK(steps(quick.makespan) == 6);
  CHECK(quick.peak_live == std::vector<int>{2, 2});  // 0 at rank 1 from 1 to 2, where B0 runs from 1 to 3
  // With a delay of 3: evicted from 1 to 4, loaded from 4 to 7, then B0 and B1 until 11.
  costs.delay = unit_steps(3);
  CHECK(steps(sim::simulate_schedule(schedule, costs).makespan) == 11);
}

TEST_CASE("a barrier opens when the last rank has come; an optimizer step takes its own time") {
  // Rank 0: F0 0-1, barrier at 4, B0 4-6, step 6-9.   Rank 1: F0 1-2, B0 2-4, barrier, step 4-7.
  const auto schedule = schedule::parse_schedule("0F0,BARRIER,0B0,0STEP\n1F0,1B0,BARRIER,1STEP\n", "g");
  PassCosts costs;
  costs.step = unit_steps(3);
  const auto result = sim::simulate_schedule(schedule, costs);
  CHECK(steps(result.times[0][2].start) == 4);
  CHECK(steps(result.times[1][2].start) == 4);
  CHECK(steps(result.makespan) == 9);
  CHECK(steps(result.idle[0]) == 3);
}

TEST_CASE("the times of a chunk are those of a full stage, shared out") {
  PassCosts costs = full(2, 4, 6, 1);
  costs.recompute = unit_steps(3), costs.step = unit_steps(5);
  const PassCosts chunk = sim::per_chunk(costs, make("zbv", 2, 2, 4));
  CHECK(steps(chunk.forward) == 1);
  CHECK(steps(*chunk.recompute) == 1.5);
  CHECK(steps(chunk.step) == 2.5);
  CHECK(steps(chunk.delay) == 1);
}

TEST_CASE("closed forms over random shapes and times") {
  core::Random random(7);
  for (int trial = 0; trial < 300; ++trial) {
    const int p = random.between(1, 8), v = random.between(1, 4), m = p * random.between(1, 4);
    const double f = random.between(1, 40) * 0.125, w = random.between(1, 40) * 0.125,
                 i = w + random.between(0, 40) * 0.125;
    const PassCosts costs = full(f, i, w, 0);
    const auto bubble = [&](const char* family, int chunks, int count) {
      const auto result = simulate(make(family, p, chunks, count), costs);
      return steps(result.makespan) - count * (f + i + w);
    };
    CAPTURE(p);
    CAPTURE(v);
    CAPTURE(m);
    CAPTURE(f);
    CAPTURE(i);
    CAPTURE(w);
    const int any = random.between(1, 30);
    CHECK(near(bubble("gpipe", 1, any), (p - 1) * (f + i + w)));
    CHECK(near(bubble("1f1b", 1, any), (p - 1) * (f + i + w)));
    CHECK(near(bubble("looped_bfs", v, m), (p - 1) * (f + i + w) / v));
    CHECK(near(bubble("interleaved_1f1b", v, m), (p - 1) * (f + i + w) / v));
  }
}

TEST_CASE("zero-bubble closed forms where F = I >= W") {
  core::Random random(8);
  for (int trial = 0; trial < 200; ++trial) {
    const int p = random.between(1, 8), v = random.between(1, 4), m = p * random.between(2, 4);
    const double w = random.between(1, 40) * 0.125, f = w + random.between(0, 8) * 0.125;
    const PassCosts costs = full(f, f, w, 0);
    const auto bubble = [&](const char* family, int chunks) {
      return steps(simulate(make(family, p, chunks, m), costs).longest_rank_span) - m * (2 * f + w);
    };
    CAPTURE(p);
    CAPTURE(v);
    CAPTURE(m);
    CAPTURE(f);
    CAPTURE(w);
    CHECK(near(bubble("zb_h1", 1), (p - 1) * (2 * f - w)));
    CHECK(near(bubble("zb_h2", 1), 2 * (p - 1) * (f - w)));
    CHECK(near(bubble("interleaved_zb", v), (p - 1) * (2 * f - w) / v));
    if (f == w) CHECK(near(bubble("zbv", 2), 0));
  }
}

TEST_CASE("peak activations, as closed forms") {
  for (int p = 1; p <= 8; ++p)
    for (const int m : {2 * p, 4 * p})
      for (int r = 0; r < p; ++r) {
        const auto peak = [&](const char* family, int v) {
          return simulate(make(family, p, v, m), full(1, 1, 1, 0)).peak_live[static_cast<std::size_t>(r)];
        };
        CHECK(peak("gpipe", 1) == m);
        CHECK(peak("1f1b", 1) == std::min(m, p - r));
        CHECK(peak("looped_bfs", 3) == 3 * m);
        CHECK(peak("interleaved_1f1b", 3) == std::min(3 * m, 2 * p + 2 * (p - 1 - r) + 1));
        CHECK(peak("zb_h1", 1) == p);
        CHECK(peak("zb_h2", 1) == 2 * p - 1);
        CHECK(peak("interleaved_zb", 3) == 3 * p);
        CHECK(peak("zbv", 2) == 2 * p);
        CHECK(peak("dualpipev", 2) == 2 * p + 1);
        if (p % 2 == 0) CHECK(peak("dualpipe", 1) == p + 1);
      }
}

TEST_CASE("DualPipe: the bubble its authors state, where an overlapped pair takes F + B") {
  // Per chunk: (PP/2 - 1)(FB + B - 3W) with FB = F + B.
  for (const int p : {2, 4, 8})
    for (const int m : {2 * p, 2 * p + 4, 6 * p}) {
      const auto result = simulate(make("dualpipe", p, 1, m), full(1, 1, 1, 0));
      CHECK(steps(result.makespan) - 3 * m == (p / 2 - 1) * (3 + 2 - 3));
    }
}

TEST_CASE("Chimera where F = B: p - 2 slots of bubble; ranks hold p/2 + 1 to p") {
  for (const int p : {2, 4, 6, 8})
    for (const int m : {p, 2 * p, 5 * p}) {
      const auto result = simulate(make("chimera", p, 1, m), full(2, 1, 1, 0));
      CAPTURE(p);
      CAPTURE(m);
      CHECK(steps(result.makespan) == 4 * m + 2 * (p - 2));
      CHECK(*std::max_element(result.peak_live.begin(), result.peak_live.end()) == p);
      CHECK(*std::min_element(result.peak_live.begin(), result.peak_live.end()) == p / 2 + 1);
    }
}

TEST_CASE(
    "ZB-V where F = I = W: no idle rank, and a makespan longer by the stagger of the starts, (p-1)F/2") {
  for (int p = 1; p <= 8; ++p)
    for (const int m : {2 * p, 3 * p}) {
      const auto result = simulate(make("zbv", p, 2, m), full(1, 1, 1, 0));
      CHECK(steps(result.longest_rank_span) == 3 * m);
      CHECK(steps(result.makespan) == 3 * m + (p - 1) * 0.5);
    }
}

TEST_CASE("fewer micro-batches than ranks, C = 0, W < I: 1F1B against zero bubble") {
  // Zero Bubble paper, appendix H: (m+p-1)(F+I+W) against (m+p-1)(F+I) + W.
  for (int p = 2; p <= 8; ++p)
    for (int m = 1; m <= p; ++m) {
      CHECK(steps(simulate(make("1f1b", p, 1, m), full(1, 1, 0.5, 0)).makespan) == (m + p - 1) * 2.5);
      CHECK(steps(simulate(make("zb_h1", p, 1, m), full(1, 1, 0.5, 0)).makespan) >= (m + p - 1) * 2 + 0.5);
      CHECK(steps(simulate(make("zb_2p", p, 1, m, full(1, 1, 0.5, 0)), full(1, 1, 0.5, 0)).makespan) ==
            (m + p - 1) * 2 + 0.5);
    }
}

TEST_CASE("a delay between ranks costs GPipe 2(p-1) C and 1F1B C (2(p-1)(m/p + 1) - 2)") {
  for (const int p : {2, 3, 4, 8})
    for (const int m : {p, 2 * p, 8 * p})
      for (const char* family : {"gpipe", "1f1b"}) {
        const Schedule schedule = make(family, p, 1, m);
        const double extra = steps(simulate(schedule, full(1, 1, 1, 0.125)).makespan) -
                             steps(simulate(schedule, full(1, 1, 1, 0)).makespan);
        CAPTURE(p);
        CAPTURE(m);
        const double hops = family == std::string("gpipe") ? 2 * (p - 1) : 2 * (p - 1) * (m / p + 1) - 2;
        CHECK(near(extra, 0.125 * hops));
      }
}

TEST_CASE("Zero Bubble paper, Table 5 from the times of its Table 9: every printed digit") {
  // Qi et al., ICLR 2024; p = 8, times in ms; bubble rates of 1F1B, ZB-H1 and ZB-H2.
  struct PublishedLine {
    int m;
    double f, i, w, c;
    const char *one, *h1, *h2;
  };
  const PublishedLine lines[] = {{24, 18.522, 18.086, 9.337, 0.601, "0.2431", "0.1585", "0.1083"},
                                 {32, 18.513, 18.086, 9.331, 0.626, "0.1985", "0.1242", "0.0837"},
                                 {64, 18.546, 18.097, 9.321, 0.762, "0.1240", "0.0674", "0.0444"},
                                 {24, 29.718, 29.444, 19.927, 0.527, "0.2347", "0.1323", "0.0698"},
                                 {32, 29.802, 29.428, 19.530, 0.577, "0.1898", "0.1045", "0.0559"},
                                 {64, 29.935, 29.621, 19.388, 0.535, "0.1091", "0.0554", "0.0294"}};
  for (const PublishedLine& line : lines) {
    const PassCosts costs = full(line.f, line.i, line.w, line.c);
    const auto rate = [&](const char* family) {
      return fmt::format("{:.4f}", simulate(make(family, 8, 1, line.m), costs).bubble_rate);
    };
    CHECK(rate("1f1b") == line.one);
    CHECK(rate("zb_h1") == line.h1);
    CHECK(rate("zb_h2") == line.h2);
  }
}

TEST_CASE("a delay between ranks costs interleaved 1F1B C (2pv - 2); the Zero Bubble paper counts p C less") {
  for (const int p : {2, 4})
    for (const int v : {2, 3}) {
      const Schedule schedule = make("interleaved_1f1b", p, v, 3 * p);
      const double extra = steps(simulate(schedule, full(3, 3, 3, 0.125)).longest_rank_span) -
                           steps(simulate(schedule, full(3, 3, 3, 0)).longest_rank_span);
      CHECK(near(extra, 0.125 * (2 * p * v - 2)));
    }
  struct PublishedLine {
    int m;
    double f, i, w, c;
    int v;
    const char* rate;
  };  // its column 1F1B-I
  const PublishedLine lines[] = {
      {24, 18.522, 18.086, 9.337, 0.601, 3, "0.1055"},  {32, 18.513, 18.086, 9.331, 0.626, 3, "0.0818"},
      {64, 18.546, 18.097, 9.321, 0.762, 3, "0.0443"},  {24, 29.718, 29.444, 19.927, 0.527, 4, "0.0808"},
      {32, 29.802, 29.428, 19.530, 0.577, 4, "0.0628"}, {64, 29.935, 29.621, 19.388, 0.535, 4, "0.0320"}};
  for (const PublishedLine& line : lines) {
    const Schedule schedule = make("interleaved_1f1b", 8, line.v, line.m);
    const double span = steps(simulate(schedule, full(line.f, line.i, line.w, 0)).longest_rank_span) +
                        line.c * (2 * 8 * line.v - 2 - 8);
    CHECK(fmt::format("{:.4f}", 1 - line.m * (line.f + line.i + line.w) / span) == line.rate);
  }
}

TEST_CASE("Zero Bubble paper, Table 5: ZB-1p and ZB-2p") {
  // Memory per layer and micro-batch: 34h + 5as from the forward on, 32h of it until the weight gradient.
  struct PublishedLine {
    int m;
    double f, i, w, c;
    int a, h;
    const char* one;
    double two;
  };
  const PublishedLine lines[] = {{24, 18.522, 18.086, 9.337, 0.601, 24, 2304, "0.1585", 0.0433099456},
                                 {32, 18.513, 18.086, 9.331, 0.626, 24, 2304, "0.1242", 0.0039138346},
                                 {64, 18.546, 18.097, 9.321, 0.762, 24, 2304, "0.0674", 0.0025515212},
                                 {24, 29.718, 29.444, 19.927, 0.527, 32, 4096, "0.1323", 0.0028682557},
                                 {32, 29.802, 29.428, 19.530, 0.577, 32, 4096, "0.1045", 0.0021617085},
                                 {64, 29.935, 29.621, 19.388, 0.535, 32, 4096, "0.0554", 0.0010463237}};
  for (const PublishedLine& line : lines) {
    schedule::ScheduleShape shape{
        8,          1, line.m, 0, full(line.f, line.i, line.w, line.c), {}, 34 * line.h + 5 * line.a * 1024,
        32 * line.h};
    CHECK(fmt::format("{:.4f}",
                      sim::simulate_schedule(make_schedule("zb_1p", shape), shape.costs).bubble_rate) ==
          line.one);
    CHECK(std::abs(sim::simulate_schedule(make_schedule("zb_2p", shape), shape.costs).bubble_rate -
                   line.two) < 1e-10);
  }
}

TEST_CASE("memory-controlled V schedules: idle steps and peak activations, F = I = W = 1 per chunk") {
  // Computed with the authors' scheduler; memory in full stages.
  struct PublishedLine {
    int p;
    double v_min, min_held, v_half, half_held, v_1f1b, one_held;
  };
  const PublishedLine lines[] = {{4, 11, 2, 5, 3, 15, 3},
                                 {6, 17, 3, 11, 4, 22, 5},
                                 {8, 27, 4, 17, 5, 33, 6},
                                 {12, 41, 5, 29, 7, 52, 9},
                                 {16, 59, 6, 41, 9, 75, 11}};
  for (const PublishedLine& line : lines) {
    const int m = 3 * line.p;
    CAPTURE(line.p);
    const auto check = [&](const char* family, double idle, double held) {
      const Schedule schedule = make(family, line.p, 2, m);
      const auto result = sim::simulate_schedule(schedule, {});
      CAPTURE(family);
      CHECK(steps(result.longest_rank_span) - 6 * m == idle);
      CHECK(*std::max_element(result.peak_live.begin(), result.peak_live.end()) / schedule.chunks() == held);
    };
    check("v_min", line.v_min, line.min_held);
    check("v_half", line.v_half, line.half_held);
    check("v_zb", 0, line.p);
    check("v_1f1b", line.v_1f1b, line.one_held);
  }
}

TEST_CASE(
    "V-ZB on two ranks: weight gradients fill gaps that they just fit, and transfers are part of a gap") {
  // Steps of a chunk. Rank 1 waits for the first forward of rank 0, then works without a gap. Its second input
  // gradient arrives one step behind the first two, and a weight gradient takes a step. 2 + 2 x 2 x (2 + 1 + 1).
  const PassCosts long_forward{unit_steps(2), unit_steps(1), unit_steps(1), {}};
  CHECK(steps(sim::simulate_schedule(make("v_zb", 2, 2, 2, long_forward), long_forward).makespan) == 18);
  // Every pass and every transfer takes a step. The first input gradient arrives at rank 1 after 5 passes and 3
  // transfers: the way down and up, and the input gradient of rank 0. Then rank 1 has 8 passes left.
  const PassCosts far{unit_steps(1), unit_steps(1), unit_steps(1), unit_steps(1)};
  CHECK(steps(sim::simulate_schedule(make("v_zb", 2, 2, 2, far), far).makespan) == 16);
}

TEST_CASE("V-ZB repeats its search with the bubbles of the run before") {
  // Rank 2 starts after two forwards of 5 and has 5 x 2 x (5 + 6 + 2) of work: 140 at least. The first run of
  // the search takes 143, the second 142, the third no less.
  schedule::ScheduleShape shape;
  shape.ranks = 3, shape.chunks = 2, shape.micro_batches = 5, shape.memory_limit = 6;
  shape.costs = {unit_steps(5), unit_steps(6), unit_steps(2), {}};
  CHECK(steps(sim::simulate_schedule(schedule::make_schedule("v_zb", shape), shape.costs).makespan) == 142);
}

TEST_CASE("V-ZB on three ranks keeps to the memory of three activations") {
  const PassCosts costs{unit_steps(4), unit_steps(5), unit_steps(3), unit_steps(2)};
  const auto held = sim::simulate_schedule(make("v_zb", 3, 2, 8, costs), costs).peak_live;
  CHECK(*std::max_element(held.begin(), held.end()) == 2 * 3);  // of two chunks each
}

TEST_CASE("uneven passes: V-Min loses time per micro-batch, V-Half and V-ZB do not") {
  const auto idle = [](const char* family, int m) {
    const PassCosts costs{unit_steps(1), unit_steps(1.2), unit_steps(0.8), {}};
    return steps(sim::simulate_schedule(make(family, 4, 2, m, costs), costs).longest_rank_span) - 6 * m;
  };
  CHECK(near(idle("v_min", 8), 20.8));
  CHECK(near(idle("v_min", 12), 25.6));
  CHECK(near(idle("v_min", 32), 49.6));
  CHECK(near(idle("v_half", 8), 7.8));
  CHECK(near(idle("v_half", 32), 7.8));
  CHECK(near(idle("v_zb", 8), 1.6));
  CHECK(near(idle("v_zb", 32), 1.6));
}

TEST_CASE("simulated rows computed elsewhere: makespan, span, idle, rate and live counts of every row") {
  const std::string file = support::reference_data("schedules/schedules_expected.csv");
  if (file.empty()) return;
  std::istringstream in(core::read_file(file));
  std::string line;
  std::getline(in, line);
  int rows = 0;
  while (std::getline(in, line)) {
    const auto cell = split(line);
    const auto number = [&](std::size_t k) { return std::stod(cell[k]); };
    const int p = std::stoi(cell[1]), v = std::stoi(cell[2]), m = std::stoi(cell[3]);
    const std::string family = cell[0] == "dualpipev_sequential_overlap" ? "dualpipev" : cell[0];
    const Schedule schedule = make(family, p, v, m);
    const auto result = simulate(schedule, full(number(4), number(5), number(6), number(7)));
    CAPTURE(line);
    CHECK(near(steps(result.makespan), number(8)));
    CHECK(near(steps(result.longest_rank_span), number(9)));
    CHECK(near(steps(result.makespan) - m * (number(4) + number(5) + number(6)), number(10)));
    CHECK(near(result.bubble_rate, number(11)));
    CHECK(fmt::format("{}", fmt::join(result.peak_live, "|")) == cell[12]);
    CHECK(near(*std::max_element(result.peak_live.begin(), result.peak_live.end()) / schedule.chunks(),
               number(13)));
    ++rows;
  }
  CHECK(rows == 276);
}

TEST_CASE("published schedules take the published number of steps") {
  const std::string folder = support::reference_data("schedules");
  if (folder.empty()) return;
  const auto makespan = [&](const char* file) {
    return steps(sim::simulate_schedule(schedule::load_schedule(folder + "/" + file), {}).makespan);
  };
  CHECK(makespan("dualpipev_4rank_10mb.csv") == 66);
  CHECK(makespan("zb1p_2rank_2stagep_compute.csv") == 49);
  // Joined to B, an input gradient reaches the other rank one W later than in the schedule without messages.
  CHECK(makespan("zb1p_2rank_2stagep_comms.csv") >= 49);
  CHECK(makespan("torchtitan_custom_schedule.csv") == 50);
  const auto live =
      sim::simulate_schedule(schedule::load_schedule(folder + "/dualpipev_4rank_10mb.csv"), {}).peak_live;
  CHECK(live == std::vector<int>(4, 9));
}

TEST_CASE("a schedule that outlasts the clock is refused") {
  // One rank: F and B of a micro-batch take 3 million seconds; a second one would end at 6 million.
  const schedule::PassCosts costs{1'000'000 * schedule::kUnitStep,
                                  1'000'000 * schedule::kUnitStep,
                                  1'000'000 * schedule::kUnitStep,
                                  {},
                                  {},
                                  {}};
  const auto schedule = [](int micro_batches) {
    schedule::ScheduleShape shape;
    shape.micro_batches = micro_batches;
    return schedule::make_schedule("1f1b", shape);
  };
  CHECK(to_seconds(sim::simulate_schedule(schedule(1), costs).makespan).value() == support::near(3e6));
  CHECK_THROWS_AS(sim::simulate_schedule(schedule(2), costs), core::BadInput);
}

TEST_CASE("a partner that takes an activation back when a forward pass begins makes room for it") {
  // The first rank leaves an activation with the second from 1 to 5, where a second pass of that rank begins.
  using schedule::Action;
  using schedule::ActionKind;
  Schedule pair;
  pair.rank_of_stage = {0, 1};
  pair.ranks = {{schedule::forward(0, 0), Action{ActionKind::evict, 0, 0}, Action{ActionKind::load, 0, 0}},
                {schedule::forward(1, 0), schedule::forward(1, 1)}};
  const auto from = [](double start, double end) {
    return sim::TimeInterval{unit_steps(start), unit_steps(end)};
  };
  CHECK(sim::peak_live(pair, {{from(0, 1), from(1, 1), from(5, 5)}, {from(2, 3), from(5, 6)}}) ==
        std::vector<int>{1, 2});
  CHECK(sim::peak_live(pair, {{from(0, 1), from(1, 1), from(5, 5)}, {from(2, 3), from(4, 5)}}) ==
        std::vector<int>{1, 3});
}
