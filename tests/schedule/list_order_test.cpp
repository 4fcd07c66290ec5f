#include "penstock/schedule/list_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "support/random_pipeline.hpp"

using namespace penstock;
using core::Picoseconds;
using schedule::ListRule;
using schedule::PassPhase;
using schedule::Pipeline;
using schedule::Task;

namespace {

Pipeline even_chain(int stages, int micro_batches, std::int64_t link = 0, int room = 0) {
  Pipeline out;
  out.micro_batches = micro_batches;
  for (int s = 0; s < stages; ++s) {
    out.stages.push_back({Picoseconds(1), Picoseconds(2), room});
    if (s > 0) out.links.push_back({s - 1, s, Picoseconds(link), Picoseconds(link)});
  }
  return out;
}

Picoseconds time_by(ListRule rule, const Pipeline& pipeline) {
  return execute(pipeline, order_by(rule, pipeline)).makespan;
}

std::string row(ListRule rule, const Pipeline& pipeline, std::size_t machine) {
  return tokens(order_by(rule, pipeline)[machine]);
}

/// Each phase in micro-batch order, and no more held than there is room for.
bool keeps_order_and_room(const Pipeline& pipeline, const schedule::MachineOrder& order) {
  for (std::size_t k = 0; k < order.size(); ++k) {
    std::int32_t next[2] = {0, 0};
    for (const Task& task : order[k])
      if (task.micro_batch != next[static_cast<std::size_t>(task.phase)]++) return false;
    const bool limited = k < pipeline.stages.size() && pipeline.stages[k].room > 0;
    if (limited && schedule::most_held(order[k]) > pipeline.stages[k].room) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("without link time every rule takes (M + S - 1)(F + B) on an even chain") {
  for (int stages = 1; stages <= 6; ++stages)
    for (int count = 1; count <= 12; ++count)
      for (const ListRule rule : schedule::kListRules)
        CHECK(time_by(rule, even_chain(stages, count)) == Picoseconds((count + stages - 1) * 3));
}

TEST_CASE("the cyclic order of two stages by hand") {
  // Five steps: F on stage 0, link, both passes of stage 1 as one, link, B on stage 0. So B of stage 0 falls
  // four cycles after F: cycles 0 to 3 run F0 to F3, cycle 4 runs B0 and F4.
  CHECK(row(ListRule::cyclic, even_chain(2, 6), 0) == "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5");
  CHECK(row(ListRule::cyclic, even_chain(2, 6), 1) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
  // One link for both directions: F0 to F2 in cycles 1 to 3; B0 comes in cycle 3 as well, and goes first.
  Pipeline shared = even_chain(2, 4);
  shared.full_duplex = false;
  CHECK(row(ListRule::cyclic, shared, 2) == "F0 F1 B0 F2 B1 F3 B2 B3");
  // Room for three: F3 waits for B0, that is for cycle 4, where F3 would have come in cycle 3.
  CHECK(row(ListRule::cyclic, even_chain(2, 6, 0, 3), 0) == "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5");
}

TEST_CASE("1F1B warms up with the longest way to a sink, and with no more than room here and before") {
  CHECK(row(ListRule::one_f_one_b, even_chain(3, 4), 0) == "F0 F1 F2 B0 F3 B1 B2 B3");
  CHECK(row(ListRule::one_f_one_b, even_chain(3, 4), 1) == "F0 F1 B0 F2 B1 F3 B2 B3");
  Pipeline tight = even_chain(3, 3);
  tight.stages[0].room = 1;  // stage 1 would wait for F1 for ever
  CHECK(row(ListRule::one_f_one_b, tight, 1) == "F0 B0 F1 B1 F2 B2");
  //   0 -> 1 -> 3, 2 -> 3: stage 2 holds two, stage 0 three.
  Pipeline branches = even_chain(4, 4);
  branches.links[1] = {1, 3, Picoseconds(0), Picoseconds(0)};
  CHECK(row(ListRule::one_f_one_b, branches, 0) == "F0 F1 F2 B0 F3 B1 B2 B3");
  CHECK(row(ListRule::one_f_one_b, branches, 2) == "F0 F1 B0 F2 B1 F3 B2 B3");
}

TEST_CASE("the bound: (M + 4D - 4) W + max A without limits, p (M - 1) + 4D - 3 cycles with") {
  // W = 3 on a chain of three with short links: (8 + 12 - 4) * 3 = 48, and 48 + 7 with an all-reduce of 7.
  Pipeline pipeline = even_chain(3, 8, 1);
  CHECK(list_order_bound(pipeline) == Picoseconds(48));
  pipeline.stages[1].after = Picoseconds(7);
  CHECK(list_order_bound(pipeline) == Picoseconds(55));
  // 0 -> 2 <- 1: D = 2 for three stages: (8 + 8 - 4) * 3.
  Pipeline wide = even_chain(3, 8, 1);
  wide.links[0].to = 2;
  CHECK(list_order_bound(wide) == Picoseconds(36));
  // Links of 2 each way: a machine of 2 per direction changes nothing, one of 4 for both does: 16 * 4.
  // Latency adds.
  CHECK(list_order_bound(even_chain(3, 8, 2)) == Picoseconds(48));
  Pipeline shared = even_chain(3, 8, 2);
  shared.full_duplex = false;
  CHECK(list_order_bound(shared) == Picoseconds(64));
  shared.links[0].backward_latency = Picoseconds(1);
  CHECK(list_order_bound(shared) == Picoseconds(80));
  // The first stage runs B eight cycles after F: with room 8 and more p = 1; with 7 p = 2, 2 * 8 + 9 = 25
  // cycles (M = 9).
  CHECK(list_order_bound(even_chain(3, 9, 1, 8)) == Picoseconds(51));
  CHECK(list_order_bound(even_chain(3, 9, 1, 7)) == Picoseconds(75));
  // Room for all micro-batches is no limit.
  CHECK(list_order_bound(even_chain(3, 7, 1, 7)) == Picoseconds(45));
  // One stage: M W exactly.
  CHECK(list_order_bound(even_chain(1, 5)) == time_by(ListRule::cyclic, even_chain(1, 5)));
}

TEST_CASE("a bound beyond the clock is the end of the clock") {
  Pipeline pipeline = even_chain(3, 1000);
  for (auto& stage : pipeline.stages)
    stage = {Picoseconds(1'000'000'000'000'000), Picoseconds(1'000'000'000'000'000), 1};
  CHECK(list_order_bound(pipeline) > Picoseconds(9'000'000'000'000'000'000));
  CHECK(list_order(pipeline).makespan == Picoseconds(6'000'000'000'000'000'000));
}

TEST_CASE("room for one micro-batch everywhere: one goes through after the other") {
  // Three stages, links of 1: 3 * 3 + 4 * 1 = 13 for each of five.
  for (const ListRule rule : schedule::kListRules)
    CHECK(time_by(rule, even_chain(3, 5, 1, 1)) == Picoseconds(65));
}

TEST_CASE(
    "on thousands of random pipelines orders are in order, within room, without deadlock and within the "
    "bound") {
  core::Random random(1);
  for (int n = 0; n < 2000; ++n) {
    CAPTURE(n);
    const Pipeline pipeline = support::random_pipeline(random, {8, 40, n % 4 < 2, n % 2 == 1});
    const Picoseconds bound = list_order_bound(pipeline);
    Picoseconds best = bound;
    for (const ListRule rule : schedule::kListRules) {
      const auto order = order_by(rule, pipeline);
      CHECK(keeps_order_and_room(pipeline, order));
      const Picoseconds makespan = execute(pipeline, order).makespan;
      if (rule == ListRule::cyclic) CHECK(makespan <= bound);
      best = std::min(best, makespan);
    }
    const auto chosen = list_order(pipeline);
    CHECK(chosen.makespan == best);
    CHECK(order_by(chosen.rule, pipeline) == chosen.order);
  }
}

TEST_CASE("a pipeline with a fault is refused") {
  Pipeline pipeline = even_chain(2, 4);
  pipeline.links[0].to = 5;
  for (const ListRule rule : schedule::kListRules) CHECK_THROWS_AS(order_by(rule, pipeline), core::BadInput);
  CHECK_THROWS_AS(list_order_bound(pipeline), core::BadInput);
}
