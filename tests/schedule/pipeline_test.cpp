#include "penstock/schedule/pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/schedule/list_order.hpp"
#include "support/random_pipeline.hpp"

using namespace penstock;
using core::Picoseconds;
using schedule::MachineOrder;
using schedule::Phase;
using schedule::Pipeline;
using schedule::Task;

namespace {

const Task F0{Phase::forward, 0}, F1{Phase::forward, 1}, B0{Phase::backward, 0}, B1{Phase::backward, 1};

/// Two stages, forward 1 and backward 2; a link that takes 3 forward and 4 back.
Pipeline pair_of_stages(bool full_duplex) {
  const schedule::PipelineStage stage{Picoseconds(1), Picoseconds(2)};
  return {{stage, stage}, {{0, 1, Picoseconds(3), Picoseconds(4)}}, 2, full_duplex};
}

MachineOrder order_of(const Pipeline& pipeline) {
  const MachineOrder stages = {{F0, F1, B0, B1}, {F0, B0, F1, B1}};
  if (pipeline.full_duplex) return {stages[0], stages[1], {F0, F1}, {B0, B1}};
  return {stages[0], stages[1], {F0, F1, B0, B1}};
}

std::string refusal(const Pipeline& pipeline, const MachineOrder& order) {
  try {
    execute(pipeline, order);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "accepted";
}

std::string with_fault(const std::function<void(Pipeline&)>& spoil) {
  Pipeline pipeline = pair_of_stages(true);
  spoil(pipeline);
  return violation(pipeline);
}

/// Independent definition by rounds over everything: every step that can still start later is moved, until
/// nothing moves.
Picoseconds by_rounds(const Pipeline& pipeline, const MachineOrder& order) {
  const schedule::Unrolled unrolled(pipeline);
  std::vector<std::vector<Picoseconds>> start(
      unrolled.steps.size(), std::vector<Picoseconds>(static_cast<std::size_t>(pipeline.micro_batches)));
  for (bool moved = true; moved;) {
    moved = false;
    const auto not_before = [&](std::size_t id, std::size_t m, Picoseconds time) {
      if (start[id][m] < time) start[id][m] = time, moved = true;
    };
    for (std::size_t id = 0; id < start.size(); ++id)
      for (const std::size_t before : unrolled.steps[id].waits_for)
        for (std::size_t m = 0; m < start[id].size(); ++m)
          not_before(id, m,
                     start[before][m] + unrolled.steps[before].duration + unrolled.steps[before].latency);
    for (std::size_t k = 0; k < order.size(); ++k) {
      Picoseconds free(0);
      for (const Task& task : order[k]) {
        const auto& ids = unrolled.steps_of[k];
        const std::size_t id = unrolled.steps[ids[0]].phase == task.phase ? ids[0] : ids[1];
        not_before(id, static_cast<std::size_t>(task.micro_batch), free);
        free = start[id][static_cast<std::size_t>(task.micro_batch)] + unrolled.steps[id].duration;
      }
    }
  }
  Picoseconds last(0);
  for (std::size_t s = 0; s < pipeline.stages.size(); ++s)
    for (const Picoseconds time : start[unrolled.backward(s)])
      last = std::max(last, time + pipeline.stages[s].backward + pipeline.stages[s].after);
  return last;
}

}  // namespace

TEST_CASE("two stages, two micro-batches, full duplex: 1F1B by hand") {
  //    stage 0  F0 0-1, F1 1-2;                   B0 11-13,         B1 15-17
  //    link     F0 1-4, F1 4-7;    back           B0 7-11, B1 11-15
  //    stage 1  F0 4-5, B0 5-7, F1 7-8, B1 8-10
  const Pipeline pipeline = pair_of_stages(true);
  const auto run = execute(pipeline, order_of(pipeline));
  CHECK(run.makespan == Picoseconds(17));
  CHECK(run.ends[0] ==
        std::vector<Picoseconds>{Picoseconds(1), Picoseconds(2), Picoseconds(13), Picoseconds(17)});
  CHECK(run.ends[1] ==
        std::vector<Picoseconds>{Picoseconds(5), Picoseconds(7), Picoseconds(8), Picoseconds(10)});
  CHECK(run.ends[3] == std::vector<Picoseconds>{Picoseconds(11), Picoseconds(15)});
}

TEST_CASE("a link that serves one direction at a time makes the directions wait for each other") {
  // The link is free for the first gradient at 7, as in full duplex; with the second tensor last, at 11 only.
  // Then F0 1-4, then B0 7-11, F1 11-14, and stage 1 runs F1 14-15, B1 15-17. B1 goes back 17-21; stage 0
  // ends at 23.
  Pipeline pipeline = pair_of_stages(false);
  CHECK(execute(pipeline, order_of(pipeline)).makespan == Picoseconds(17));
  MachineOrder order = order_of(pipeline);
  order[2] = {F0, B0, F1, B1};
  CHECK(execute(pipeline, order).makespan == Picoseconds(23));
}

TEST_CASE("latency delays the arrival and leaves the link free; an all-reduce follows the last backward") {
  // Latency 10 both ways: stage 1 starts at 14, its gradients leave at 17 and 20 (busy 4 each: 21 and 25).
  // They arrive at 31 and 35: stage 0 ends at 37. Stage 1 ends at 20; an all-reduce of 17 there changes
  // nothing, 18 does.
  Pipeline pipeline = pair_of_stages(true);
  pipeline.links[0].forward_latency = pipeline.links[0].backward_latency = Picoseconds(10);
  CHECK(execute(pipeline, order_of(pipeline)).makespan == Picoseconds(37));
  pipeline.stages[1].after = Picoseconds(17);
  CHECK(execute(pipeline, order_of(pipeline)).makespan == Picoseconds(37));
  pipeline.stages[1].after = Picoseconds(18);
  CHECK(execute(pipeline, order_of(pipeline)).makespan == Picoseconds(38));
}

TEST_CASE("rows that lack a task, double it or hold a stranger are refused by machine and cell") {
  const Pipeline pipeline = pair_of_stages(true);
  MachineOrder order = order_of(pipeline);
  order[1].pop_back();
  CHECK(refusal(pipeline, order) == "machine 1: 3 tasks where 4 are due");
  order[1].push_back(F0);
  CHECK(refusal(pipeline, order) == "machine 1 cell 3: F0 appears twice there");
  order[1][3] = {Phase::backward, 2};
  CHECK(refusal(pipeline, order) == "machine 1 cell 3: B2 is no task of this machine");
  order[1][3] = B1;
  order[2][1] = B1;
  CHECK(refusal(pipeline, order) == "machine 2 cell 1: B1 is no task of this machine");
  order.pop_back();
  CHECK(refusal(pipeline, order) == "3 rows for 4 machines");
}

TEST_CASE("an order in which machines wait for each other is an invalid plan") {
  // Stage 0 wants B0 before F1, stage 1 wants F1 before B0.
  const Pipeline pipeline = pair_of_stages(true);
  MachineOrder order = order_of(pipeline);
  order[0] = {F0, B0, F1, B1};
  CHECK_NOTHROW(execute(pipeline, order));
  order[1] = {F0, F1, B0, B1};
  CHECK_THROWS_WITH_AS(execute(pipeline, order), "the order deadlocks: machine 0 cell 1 (B0) never starts",
                       core::Error);
}

TEST_CASE("a pipeline's faults are reported by place") {
  CHECK(with_fault([](Pipeline&) {}) == "");
  CHECK(with_fault([](Pipeline& p) { p.stages.clear(); }) == "a pipeline has at least one stage");
  CHECK(with_fault([](Pipeline& p) { p.micro_batches = 0; }) == "0 micro-batches");
  CHECK(with_fault([](Pipeline& p) { p.stages[1].backward = Picoseconds(-1); }) ==
        "stages[1]: a time is negative");
  CHECK(with_fault([](Pipeline& p) { p.stages[0].early = p.stages[0].backward; }) == "");
  CHECK(with_fault([](Pipeline& p) { p.stages[0].early = p.stages[0].backward + Picoseconds(1); }) ==
        "stages[0]: the early part of a backward is longer than all of it");
  CHECK(with_fault([](Pipeline& p) { p.stages[0].room = -1; }) == "stages[0]: room for -1 micro-batches");
  CHECK(with_fault([](Pipeline& p) { p.links[0].to = 0; }) ==
        "links[0]: from 0 to 0: a link leads to a later one of the 2 stages");
  CHECK(with_fault([](Pipeline& p) { p.links[0].to = 2; }) ==
        "links[0]: from 0 to 2: a link leads to a later one of the 2 stages");
  CHECK(with_fault([](Pipeline& p) { p.links[0].backward_latency = Picoseconds(-1); }) ==
        "links[0]: a time is negative");
  // The clock ends at 9e18 ps.
  CHECK(with_fault([](Pipeline& p) { p.stages[0].after = Picoseconds(8'999'999'999'999'990'000); }) == "");
  CHECK(with_fault([](Pipeline& p) { p.stages[0].after = Picoseconds(9'000'000'000'000'000'000); }) ==
        "the times of one iteration leave the clock");
}

TEST_CASE("execution agrees with a twin that goes round and round, on 500 random pipelines") {
  core::Random random(3);
  for (int n = 0; n < 500; ++n) {
    const Pipeline pipeline = support::random_pipeline(random, {5, 6, n % 2 == 0});
    const schedule::Unrolled unrolled(pipeline);
    MachineOrder order(unrolled.machines);
    for (const Phase phase :
         {Phase::forward, Phase::backward})  // all forwards, then all backwards: never a deadlock
      for (std::size_t k = 0; k < order.size(); ++k)
        for (const std::size_t id : unrolled.steps_of[k])
          for (std::int32_t m = 0; m < pipeline.micro_batches && unrolled.steps[id].phase == phase; ++m)
            order[k].push_back({phase, m});
    CHECK(execute(pipeline, order).makespan == by_rounds(pipeline, order));
  }
}
