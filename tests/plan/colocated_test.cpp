// Colocated stages: their parts, their file, and what they cannot be.

#include "penstock/plan/colocated.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/shared_parameters.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/plan/violations.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;
using core::StageId;
using plan::Plan;
using plan::Stage;

namespace {

/// e -> a -> b -> c
graph::OpGraph chain() {
  return support::tiny_graph(4, {{0, 1}, {1, 2}, {2, 3}});
}

constexpr const char* kHead = R"(penstock_plan: 1
model: {name: m.json}
cluster: {name: c.yaml, devices: 4}
planner: hand
training: {mini_batch: 8}
schedule: 1f1b
stages:
)";

Plan parsed(const std::string& stages) {
  return plan::parse_plan(kHead + stages, "p.yaml", chain());
}

/// An encoder of two replicas on either pair of devices, two stages of a pipeline with a pair each.
std::string stages_of(const std::string& encoder) {
  return encoder + R"(  - {devices: [0, 1], micro_batch: 2, tensor_parallel: 2, operators: [b]}
  - {devices: [2, 3], micro_batch: 2, tensor_parallel: 2, after: [0], operators: [c, d]}
)";
}
const std::string kEncoder =
    "  - {devices: [2, 3, 0, 1], micro_batch: 4, in_flight: 8, colocated: true, operators: [a]}\n";

std::vector<std::string> violations(const Plan& plan) {
  return plan::structural_violations(chain(), support::tiny_cluster(4), plan);
}

bool mentions(const std::vector<std::string>& violations, const std::string& words) {
  return std::ranges::any_of(violations, [&](const auto& v) { return v.find(words) != std::string::npos; });
}

/// The valid plan, changed.
template <class Change>
std::vector<std::string> spoiled(Change change) {
  Plan plan = parsed(stages_of(kEncoder));
  change(plan);
  return violations(plan);
}

}  // namespace

TEST_CASE("a colocated stage is read as its parts, one for each rank, and written as one") {
  const Plan plan = parsed(stages_of(kEncoder));
  REQUIRE(plan.stages.size() == 4);
  CHECK(violations(plan).empty());
  CHECK(plan.stages[0].devices == std::vector{DeviceId(2), DeviceId(3)});
  CHECK(plan.stages[1].devices == std::vector{DeviceId(0), DeviceId(1)});
  CHECK(plan.stages[0].part == plan::StagePart{0, 4});
  CHECK(plan.stages[1].part == plan::StagePart{2, 4});
  CHECK(plan.stages[0].operators == plan.stages[1].operators);
  CHECK(plan.stages[3].after == std::vector{StageId(0), StageId(1)});  // both parts of the file's stage 0
  CHECK(plan::rank_of_stage(plan) == std::vector<std::int32_t>{0, 1, 1, 0});
  CHECK(plan::colocated_stages(plan) == std::vector<std::vector<StageId>>{{StageId(0), StageId(1)}});

  const std::string written = plan::to_yaml(chain(), plan);
  CHECK(written.find("  - devices: [2, 3, 0, 1]\n    micro_batch: 4  # of 4 replicas together, 1 each\n") !=
        std::string::npos);
  CHECK(written.find("colocated: true\n") != std::string::npos);
  CHECK(written.find("after: [0]\n") != std::string::npos);
  const Plan again = plan::parse_plan(written, "p.yaml", chain());
  CHECK(again.stages == plan.stages);
}

TEST_CASE("a part has its replicas' share of every micro-batch") {
  const Plan plan = parsed(stages_of(kEncoder));
  // Four samples to four replicas, of which the second part has the third and the fourth.
  CHECK(plan.stages[1].share_start(0) == 2);
  CHECK(plan.stages[1].share_start(2) == 4);
  CHECK(plan.stages[1].weight_replicas() == 4);
  CHECK(plan::samples_per_device(plan, plan.stages[0]) == 1);
}

TEST_CASE("parts feed whatever their stage feeds, and share its parameters") {
  graph::GraphBuilder builder("weights");
  for (const char* name : {"a", "b", "c", "d"}) builder.add(support::unit_op(name, 1e9, 10));
  for (std::size_t v = 0; v < 3; ++v) builder.add_edge(OpId(v), OpId(v + 1));
  const graph::OpGraph graph = builder.build();
  const Plan plan = plan::parse_plan(kHead + stages_of(kEncoder), "p.yaml", graph);
  const plan::StageGraph stages(graph, plan);
  REQUIRE(stages.boundaries().size() == 5);  // two of them imposed by `after`
  CHECK(stages.boundaries()[0].to == StageId(2));
  CHECK(stages.boundaries()[0].bytes == core::Bytes(1000));
  CHECK(stages.runs(StageId(1), OpId(0)));
  CHECK_FALSE(stages.runs(StageId(2), OpId(0)));
  const auto shared = plan::shared_parameters(graph, plan);
  REQUIRE(shared.size() == 1);
  CHECK(shared[0].owners == std::vector{OpId(0)});
  CHECK(shared[0].stages == std::vector{StageId(0), StageId(1)});
}

TEST_CASE("devices that are no other stages', set after set, are refused at their place") {
  const auto refusal = [](const std::string& encoder) -> std::string {
    try {
      parsed(stages_of(encoder));
    } catch (const core::BadInput& e) {
      return e.what();
    }
    return "";
  };
  const std::string torn =
      refusal("  - {devices: [0, 2], micro_batch: 4, colocated: true, operators: [a]}\n");
  CHECK(torn.find("p.yaml:8") != std::string::npos);
  CHECK(torn.find("colocated") != std::string::npos);
  CHECK(torn.find("no set begins with device 0") != std::string::npos);
  const std::string wide = refusal(
      "  - {devices: [0, 1, 2, 3], micro_batch: 4, tensor_parallel: 4, colocated: true, operators: [a]}\n");
  CHECK(wide.find("a replica of 4 devices does not stand on the 2 of one other stage") != std::string::npos);
}

TEST_CASE("errors of colocated stages are named") {
  CHECK(mentions(spoiled([](Plan& p) { p.stages[1].micro_batch = 8; }), "no part of the stage before it"));
  CHECK(mentions(spoiled([](Plan& p) { p.stages.erase(p.stages.begin() + 1); }),
                 "not followed by the other parts"));
  CHECK(mentions(spoiled([](Plan& p) { p.stages[1].part.before = 1; }), "no part of the stage before it"));
  CHECK(mentions(spoiled([](Plan& p) { p.schedule = "pipedream"; }), "runs with a schedule that flushes"));
  for (const auto spoil :
       {+[](Stage& s) { s.k = 2; }, +[](Stage& s) { s.zero = 2; }, +[](Stage& s) { s.expert_parallel = 2; }})
    CHECK(mentions(spoiled([&](Plan& p) { spoil(p.stages[0]), spoil(p.stages[1]); }),
                   "stage 0, which is colocated, has"));
  // b on both pairs would wait for the first one of the pipeline, and be waited for by the second.
  const Plan between = parsed(R"(  - {devices: [0, 1], micro_batch: 2, tensor_parallel: 2, operators: [a]}
  - {devices: [0, 1, 2, 3], micro_batch: 4, colocated: true, operators: [b]}
  - {devices: [2, 3], micro_batch: 2, tensor_parallel: 2, operators: [c, d]}
)");
  CHECK(mentions(violations(between), "stage 2, which is colocated, waits for stage 0, which is not"));
  CHECK_THROWS_WITH_AS(plan::refuse_colocated(between, "a planner"),
                       "stage 1 is colocated, which a planner does not know", core::BadInput);
}

TEST_CASE("colocated stages behind all others wait for the pipeline, with one micro-batch") {
  const std::string pipeline = R"(  - {devices: [0, 1], micro_batch: 2, tensor_parallel: 2, operators: [a]}
  - {devices: [2, 3], micro_batch: 2, tensor_parallel: 2, operators: [b]}
)";
  const auto behind = [&](int micro_batch) {
    return parsed(
        fmt::format("{}  - {{devices: [0, 1, 2, 3], micro_batch: 4, colocated: true, operators: [c]}}\n"
                    "  - {{devices: [2, 3], micro_batch: {}, colocated: true, operators: [d]}}\n",
                    pipeline, micro_batch));
  };
  const Plan plan = behind(4);
  CHECK(violations(plan).empty());
  CHECK(plan::behind_pipeline(plan) == 2);
  CHECK(mentions(violations(behind(2)), "stage 4, which is colocated, has another micro-batch"));
  CHECK(plan::parse_plan(plan::to_yaml(chain(), plan), "p.yaml", chain()).stages == plan.stages);
  Plan forced = plan;
  forced.stages[2].after = forced.stages[3].after = {StageId(0)};
  CHECK(mentions(violations(forced), "stage 2, which is colocated, waits for no stage: it has no `after`"));
  // Colocated stages before the pipeline do not count; a plan without a pipeline has no stage after it.
  CHECK(plan::behind_pipeline(parsed(stages_of(kEncoder))) == 4);
}

TEST_CASE("parameters that only stages after the pipeline share are summed first") {
  graph::GraphBuilder builder("weights");
  for (const char* name : {"a", "b", "c", "d"}) builder.add(support::unit_op(name, 1e9, 10));
  for (std::size_t v = 0; v < 3; ++v) builder.add_edge(OpId(v), OpId(v + 1));
  const graph::OpGraph graph = builder.build();
  const Plan plan = plan::parse_plan(
      std::string(kHead) + R"(  - {devices: [0, 1, 2, 3], micro_batch: 4, colocated: true, operators: [a]}
  - {devices: [0, 1], micro_batch: 2, operators: [b]}
  - {devices: [2, 3], micro_batch: 2, operators: [c]}
  - {devices: [0, 1, 2, 3], micro_batch: 4, colocated: true, operators: [d]}
)",
      "p.yaml", graph);
  const auto shared = plan::shared_parameters(graph, plan);
  REQUIRE(shared.size() == 2);
  CHECK_FALSE(plan::summed_first(shared[0], plan));
  CHECK(shared[1].stages == std::vector{StageId(4), StageId(5)});
  CHECK(plan::summed_first(shared[1], plan));
}
