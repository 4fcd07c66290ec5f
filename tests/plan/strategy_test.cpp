#include "penstock/plan/strategy.hpp"

#include <doctest/doctest.h>

using namespace penstock;
using core::DeviceId;
using plan::ValueRange;

namespace {

/// Stages of so many devices each, one set after the other, samples of all replicas together.
plan::Plan stages(const std::vector<int>& devices, std::int64_t micro_batch) {
  plan::Plan out;
  std::size_t device = 0;
  for (const int count : devices) {
    plan::Stage& stage = out.stages.emplace_back();
    for (int d = 0; d < count; ++d) stage.devices.emplace_back(device++);
    stage.micro_batch = micro_batch;
  }
  return out;
}

std::string words(const plan::Plan& plan, int depth) {
  return plan::in_words(plan::strategy(plan, depth));
}

}  // namespace

TEST_CASE("a plan in one line: degrees, schedule, micro-batch of a replica, recomputation") {
  auto plan = stages({16, 16, 16, 16}, 64);
  for (auto& stage : plan.stages) stage.tensor_parallel = 8;
  for (std::size_t s = 0; s < 3; ++s) plan.stages[s].recompute = plan::kRecomputeStage;
  CHECK(words(plan, 4) == "PP4 x DP2 x TP8, 1F1B, mb 32, recompute 3/4");
  plan.schedule = "zb_h1";
  for (auto& stage : plan.stages) stage.zero = 1, stage.recompute = {};
  CHECK(words(plan, 4) == "PP4 x DP2 x TP8, zb_h1, mb 32, ZeRO 1");
  plan.stages[1].sequence_parallel = true;
  CHECK(words(plan, 4) == "PP4 x DP2 x TP8+SP, zb_h1, mb 32, ZeRO 1");
  for (auto& stage : plan.stages) stage.context_parallel = 2;  // in place of replicas
  CHECK(words(plan, 4) == "PP4 x TP8+SP x CP2, zb_h1, mb 64, ZeRO 1");
  for (auto& stage : plan.stages) stage.zero = 3, stage.zero_over = 8;
  CHECK(words(plan, 4) == "PP4 x TP8+SP x CP2, zb_h1, mb 64, ZeRO 3 over 8");
}

TEST_CASE("degrees of one are left out, except for a plan that divides nothing") {
  CHECK(words(stages({1}, 4), 1) == "PP1, 1F1B, mb 4");
  CHECK(words(stages({8}, 32), 1) == "DP8, 1F1B, mb 4");
  CHECK(words(stages({1, 1}, 4), 2) == "PP2, 1F1B, mb 4");
}

TEST_CASE("stages with unlike degrees have the least and the most, graphs of stages their depth") {
  CHECK(words(stages({1, 1, 2, 4}, 8), 3) == "PP4 (depth 3) x DP1-4, 1F1B, mb 2-8");
  auto plan = stages({2, 2, 4}, 8);
  plan.stages[2].tensor_parallel = 4;
  plan.stages[0].zero = 2;
  plan.stages[0].k = plan.stages[1].k = plan.stages[2].k = 2;
  CHECK(words(plan, 3) == "PP3 x DP1-2 x TP1-4, 2F2B, mb 4-8, ZeRO 0-2");
  plan.stages[0].k = 1;
  CHECK(words(plan, 3) == "PP3 x DP1-2 x TP1-4, kFkB, k 1-2, mb 4-8, ZeRO 0-2");
}

TEST_CASE("a schedule has its name by itself, of graphs of stages on few devices too") {
  auto plan = stages({1, 1, 1, 1}, 8);
  plan.stages[2].devices = plan.stages[0].devices, plan.stages[3].devices = plan.stages[1].devices;
  plan.schedule = "interleaved_1f1b";
  const plan::Strategy strategy = plan::strategy(plan, 3);
  CHECK(plan::in_words(strategy) == "PP2 (4 stages, depth 3), interleaved_1f1b, mb 8");
  CHECK(plan::schedule_words(strategy) == "interleaved_1f1b");
  CHECK(plan::schedule_words(plan::strategy(stages({1, 1}, 4), 2)) == "1F1B");
}

TEST_CASE("the number of stages on one set of devices is beside the degree") {
  auto plan = stages({1, 1, 1, 1}, 4);
  plan.stages[2].devices = plan.stages[0].devices;
  plan.stages[3].devices = plan.stages[1].devices;
  plan.schedule = "interleaved_1f1b";
  CHECK(words(plan, 4) == "PP2 (4 stages), interleaved_1f1b, mb 4");
  CHECK(words(plan, 3) == "PP2 (4 stages, depth 3), interleaved_1f1b, mb 4");
}

TEST_CASE("the fullest of unequal replicas counts; without a flush replicas take whole micro-batches") {
  auto plan = stages({3}, 8);
  CHECK(plan::strategy(plan, 1).micro_batch == ValueRange{3, 3});
  plan.schedule = "pipedream";
  CHECK(plan::strategy(plan, 1).micro_batch == ValueRange{8, 8});
}

TEST_CASE("extents read back, and nothing else is one") {
  for (const ValueRange extent : {ValueRange{0, 0}, ValueRange{7, 7}, ValueRange{1, 4}, ValueRange{0, 12}})
    CHECK(plan::parse_extent(plan::text(extent)) == extent);
  for (const char* text :
       {"", "-", "1-", "-1", "4-1", "1-1", "1 - 4", "1.0", "x", "1-4-8", "99999999999999999999"})
    CHECK_FALSE(plan::parse_extent(text).has_value());
}
