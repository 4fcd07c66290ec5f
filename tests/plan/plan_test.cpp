#include <doctest/doctest.h>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/plan/violations.hpp"
#include "support/scratch.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;
using core::StageId;
using plan::Plan;
using plan::Stage;

namespace {

//   a -> b -> d      stages {a}, {b}, {c, d}
//   a -> c -> d
graph::OpGraph diamond() {
  return support::tiny_graph(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
}

Plan diamond_plan() {
  Plan p{{"tiny", {{"n", "4"}}}, {"c.yaml", 3}, "hand", {8, plan::Optimizer::adam}, "1f1b", {}};
  p.stages = {Stage{{OpId(0)}, {DeviceId(0)}, 2, 1, 6, {}}, Stage{{OpId(1)}, {DeviceId(1)}, 2, 1, 4, {}},
              Stage{{OpId(2), OpId(3)}, {DeviceId(2)}, 4, 2, 4, {StageId(1)}}};
  return p;
}

bool mentions(const std::vector<std::string>& violations, const std::string& words) {
  for (const auto& violation : violations)
    if (violation.find(words) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("the stage graph counts each tensor once per reading stage") {
  const plan::StageGraph stages(diamond(), diamond_plan());
  // a feeds b (stage 1) and c (stage 2): 1 kB each; b feeds d: 1 kB.
  REQUIRE(stages.boundaries().size() == 3);
  for (const auto& b : stages.boundaries()) CHECK(b.bytes == core::Bytes(1000));
  CHECK(stages.depth() == 3);
  CHECK(stages.stages_of(OpId(3)) == std::vector{StageId(2)});
}

TEST_CASE("a plan finds its cluster from its own folder, wherever it was written from") {
  const support::ScratchFolder scratch("plan_paths");
  const auto g = diamond();
  Plan written = diamond_plan();
  written.cluster.name = scratch.path("here/c.yaml");
  written.model.name = "gpt";  // no file
  core::write_file(written.cluster.name, "");
  const auto head = [&](const std::string& file) {
    return plan::parse_plan_head(plan::to_yaml(g, plan::written_to(scratch.path(file), written)),
                                 scratch.path(file));
  };
  CHECK(head("elsewhere/deep/p.yaml").cluster.name == scratch.path("here/c.yaml"));
  CHECK(head("elsewhere/deep/p.yaml").model.name == "gpt");
  written.cluster.name = "../here/c.yaml";  // as a person writes it, beside the plan
  CHECK(head("beside/p.yaml").cluster.name == scratch.path("here/c.yaml"));
}

TEST_CASE("a plan file reads back to the same text") {
  const auto g = diamond();
  Plan written = diamond_plan();
  written.stages[0].recompute = plan::kRecomputeStage;
  written.stages[1].recompute = plan::kRecomputeEarly;
  written.stages[2].recompute = {plan::Recomputation::SegmentScope::layers, false, 4};
  written.schedule = "zb_h1";
  const std::string text = plan::to_yaml(g, written);
  const Plan back = plan::parse_plan(text, "p.yaml", g);
  CHECK(plan::to_yaml(g, back) == text);
  CHECK(back.training.optimizer == plan::Optimizer::adam);
  CHECK(back.stages[2].k == 2);
  for (std::size_t s = 0; s < 3; ++s) CHECK(back.stages[s].recompute == written.stages[s].recompute);
  CHECK(plan::parse_plan_head(text, "p.yaml").model.parameters.at("n") == "4");
}

TEST_CASE("AdamW is Adam with weight decay, which costs nothing") {
  CHECK(plan::optimizer("adamw") == plan::Optimizer::adam);
  CHECK_THROWS_WITH(plan::optimizer("adamv"), "unknown optimizer 'adamv'; did you mean 'adam'?");
}

TEST_CASE("names that YAML takes for nothing are read back as names") {
  const auto g = diamond();
  for (const char* name : {"null", "Null", "NULL", "~", "true", "1e3"}) {
    CAPTURE(name);
    Plan written = diamond_plan();
    written.model.name = written.planner = written.model.parameters["n"] = name;
    const Plan back = plan::parse_plan(plan::to_yaml(g, written), "p.yaml", g);
    CHECK(back.model.name == name);
    CHECK(back.planner == name);
    CHECK(back.model.parameters.at("n") == name);
  }
}

TEST_CASE("a plan file keeps tensor parallelism, ZeRO and compression") {
  const auto g = diamond();
  Plan written = diamond_plan();
  written.cluster.devices = 4;
  Stage& last = written.stages[2];
  last.devices = {DeviceId(2), DeviceId(3)};
  last.tensor_parallel = 2;
  last.shares = {3, 1};
  last.partition = {{OpId(3), plan::Partition::row}};
  last.sequence_parallel = true;
  written.stages[0].zero = 2;
  written.training.bucket = core::Bytes(1 << 20);
  written.cluster.runtime = "20us/task";
  written.cluster.reserved = core::Bytes(3 << 20);
  written.model.label = "Mine: small";
  written.training.compression = {0.25, 0.5};
  const std::string text = plan::to_yaml(g, written);
  const Plan back = plan::parse_plan(text, "p.yaml", g);
  CHECK(plan::to_yaml(g, back) == text);
  CHECK(back.stages[2].partition.at(OpId(3)) == plan::Partition::row);
  CHECK(back.stages[2].shares == std::vector<std::int64_t>{3, 1});
  CHECK(back.stages[0].zero == 2);
  CHECK(back.stages[2].sequence_parallel);
  CHECK(!back.stages[0].sequence_parallel);
  CHECK(back.training.bucket == core::Bytes(1 << 20));
  CHECK(back.cluster.runtime == "20us/task");
  CHECK(back.cluster.reserved == core::Bytes(3 << 20));
  CHECK(back.model.label == "Mine: small");
  CHECK(back.training.compression.gradients == 0.25);
  CHECK(plan::structural_violations(g, support::tiny_cluster(4), back).empty());
}

TEST_CASE("a plan file keeps context parallelism, a ring only as its size; one group is not written") {
  const auto g = diamond();
  Plan written = diamond_plan();
  written.cluster.devices = 6;
  written.stages[1].devices = {DeviceId(1), DeviceId(2)};
  written.stages[1].context_parallel = 2;
  written.stages[1].expert_parallel = 4;
  written.stages[2].expert_parallel = 2;
  written.stages[2].imbalance = 1.25;
  written.stages[2].devices = {DeviceId(3), DeviceId(4), DeviceId(5)};
  written.stages[2].context_parallel = 3;
  written.stages[2].context_exchange = plan::ContextExchange::ulysses;
  const std::string text = plan::to_yaml(g, written);
  CHECK(text.find("context_parallel: 2\n") != std::string::npos);
  CHECK(text.find("expert_parallel: 4\n") != std::string::npos);
  CHECK(text.find("expert_parallel: {size: 2, imbalance: 1.25}\n") != std::string::npos);
  CHECK(text.find("context_parallel: {size: 3, by: ulysses}\n") != std::string::npos);
  const Plan back = plan::parse_plan(text, "p.yaml", g);
  CHECK(plan::to_yaml(g, back) == text);
  CHECK(back.stages[0].context_parallel == 1);
  CHECK(back.stages[1].context_exchange == plan::ContextExchange::ring);
  CHECK(back.stages[2].context_exchange == plan::ContextExchange::ulysses);
  CHECK(plan::to_yaml(g, diamond_plan()).find("context") == std::string::npos);
}

TEST_CASE("a plan file keeps experts that tensor parallelism leaves whole") {
  const auto g = diamond();
  Plan written = diamond_plan();
  written.stages[1].whole_experts = written.stages[2].whole_experts = true;
  written.stages[1].expert_parallel = 4;
  written.stages[2].imbalance = 1.5;
  const std::string text = plan::to_yaml(g, written);
  CHECK(text.find("expert_parallel: {size: 4, whole: true}\n") != std::string::npos);
  CHECK(text.find("expert_parallel: {size: 1, whole: true, imbalance: 1.5}\n") != std::string::npos);
  const Plan back = plan::parse_plan(text, "p.yaml", g);
  CHECK(back.stages == written.stages);
}

TEST_CASE("a plan file keeps over how many devices ZeRO shards; over all is not written") {
  const auto g = diamond();
  Plan written = diamond_plan();
  written.stages[2].devices = {DeviceId(2), DeviceId(3), DeviceId(4), DeviceId(5)};
  written.stages[2].zero = 3;
  written.stages[2].zero_over = 2;
  const std::string text = plan::to_yaml(g, written);
  CHECK(text.find("zero: {stage: 3, over: 2}\n") != std::string::npos);
  const Plan back = plan::parse_plan(text, "p.yaml", g);
  CHECK(plan::to_yaml(g, back) == text);
  CHECK(back.stages[2].zero_over == 2);
  CHECK(back.stages[0].zero_over == 0);
  CHECK(plan::structural_violations(g, support::tiny_cluster(6), back).empty());
  written.stages[2].zero_over = 3;
  CHECK(mentions(plan::structural_violations(g, support::tiny_cluster(6), written),
                 "stage 2: 4 devices with equal weights are no groups of 3 that share"));
}

TEST_CASE("numbers of a plan file have bounds") {
  const auto g = diamond();
  Plan written = diamond_plan();
  written.stages[0].zero = 3;
  written.training.compression = {1, 0.5};
  const std::string text = plan::to_yaml(g, written);
  const auto violation = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    try {
      plan::parse_plan(changed, "p.yaml", g);
    } catch (const core::BadInput& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  CHECK(violation("zero: 3", "zero: 3") == "none");
  CHECK(violation("zero: 3", "zero: 4") ==
        "p.yaml:15: stages[0].zero: expected a whole number from 0 to 3, found '4'");
  CHECK(violation("gradients: 1,", "gradients: 0,").find("expected a ratio above 0 and at most 1") !=
        std::string::npos);
  CHECK(violation("gradients: 1,", "gradients: 1.1,").find("at most 1") != std::string::npos);
}

TEST_CASE("partitions are read by their names and by those of older files") {
  CHECK(plan::partition("output") == plan::Partition::column);
  CHECK(plan::partition("input") == plan::Partition::row);
  for (const char* word : {"whole", "batch", "column", "row", "sequence"})
    CHECK(plan::name(plan::partition(word)) == word);
  CHECK_THROWS_AS(plan::partition("columns"), core::BadInput);
}

TEST_CASE("sharding that cannot be is a fault") {
  const auto g = diamond();
  const auto violations = [&](const auto& change) {
    Plan p = diamond_plan();
    p.stages[2].devices = {DeviceId(2), DeviceId(3)};
    change(p);
    return plan::structural_violations(g, support::tiny_cluster(4), p);
  };
  CHECK(violations([](Plan&) {}).empty());
  CHECK(mentions(violations([](Plan& p) { p.stages[2].expert_parallel = 2; }),
                 "stage 2: `expert_parallel` is 2, but the model has no experts: expected 1"));
  CHECK(mentions(violations([](Plan& p) { p.stages[2].tensor_parallel = 3; }),
                 "cannot be divided into tensor-parallel groups of 3"));
  CHECK(mentions(violations([](Plan& p) {
                   p.stages[2].shares = {1, 1};
                 }),
                 "one number above zero for each of 1 devices"));
  CHECK(mentions(violations([](Plan& p) {
                   p.stages[2].tensor_parallel = 2;
                   p.stages[2].shares = {1, 0};
                 }),
                 "one number above zero for each of 2 devices"));
  CHECK(violations([](Plan& p) {
          p.stages[2].in_flight = p.stages[2].micro_batch = 2;  // a sample for each of two replicas
        }).empty());
  CHECK(mentions(violations([](Plan& p) {
                   p.stages[2].partition = {{OpId(0), plan::Partition::row}};
                 }),
                 "another stage"));
  CHECK(mentions(violations([](Plan& p) {
                   p.stages[2].partition = {{OpId(3), plan::Partition::row}};
                 }),
                 "over groups of one device"));
  CHECK(mentions(violations([](Plan& p) { p.stages[2].zero = 4; }), "stages 0 to 3, not 4"));
  CHECK(mentions(violations([](Plan& p) { p.stages[2].context_parallel = 3; }),
                 "devices cannot be divided into context groups of 3 times 1"));
  CHECK(mentions(violations([](Plan& p) { p.stages[2].sequence_parallel = true; }),
                 "stage 2: `sequence_parallel` divides tokens over groups of one device"));
  CHECK(mentions(violations([](Plan& p) {
                   p.cluster.devices = 4;
                   p.stages[2].devices = {DeviceId(2), DeviceId(3)};
                   p.stages[2].tensor_parallel = 2;
                   p.stages[2].partition = {{OpId(3), plan::Partition::sequence}};
                 }),
                 "it is not divided by `sequence`"));
  CHECK(mentions(violations([](Plan& p) { p.training.compression.gradients = 0; }), "ratio above 0"));
  CHECK(mentions(violations([](Plan& p) { p.stages[0].zero = 1, p.schedule = "pipedream"; }),
                 "ZeRO needs a schedule that flushes"));
}

TEST_CASE("a plan file with an unknown operator is refused with its place") {
  const auto g = diamond();
  std::string text = plan::to_yaml(g, diamond_plan());
  text.replace(text.find("[a]"), 3, "[z]");
  try {
    plan::parse_plan(text, "p.yaml", g);
    FAIL("accepted");
  } catch (const core::BadInput& e) {
    CHECK(std::string(e.what()) == "p.yaml:15: stages[0].operators[0]: the model has no operator 'z'");
  }
}

TEST_CASE("a well-formed plan has no faults; each broken condition is named") {
  const auto g = diamond();
  const auto c = support::tiny_cluster(3);
  CHECK(plan::structural_violations(g, c, diamond_plan()).empty());

  Plan missing = diamond_plan();
  missing.stages[2].operators = {OpId(3)};
  CHECK(mentions(plan::structural_violations(g, c, missing), "operator 'c' is in no stage"));
  Plan twice = diamond_plan();
  twice.stages[1].operators = {OpId(0), OpId(1)};
  CHECK(mentions(plan::structural_violations(g, c, twice), "operator 'a' is in stage 0 and in stage 1"));
  // {a, d} is not convex: the path a -> b -> d leaves and returns.
  Plan hollow = diamond_plan();
  hollow.stages[0].operators = {OpId(0), OpId(3)};
  hollow.stages[2].operators = {OpId(2)};
  CHECK(mentions(plan::structural_violations(g, c, hollow), "not convex"));
  Plan shared = diamond_plan();
  shared.stages[1].devices = {DeviceId(0)};
  CHECK(!mentions(plan::structural_violations(g, c, shared),
                  "whose devices differ"));  // all of them, as chunks do
  shared.stages[1].devices.emplace_back(2);
  CHECK(mentions(plan::structural_violations(g, c, shared),
                 "device 0 serves stage 0 and stage 1, whose devices differ"));
  CHECK(mentions(plan::structural_violations(g, c, shared), "device 1 serves no stage"));
  Plan odd = diamond_plan();
  odd.stages[0].micro_batch = 3;
  CHECK(mentions(plan::structural_violations(g, c, odd), "micro-batch 3 does not divide the mini-batch 8"));
  Plan crowded = diamond_plan();
  crowded.stages[0].in_flight = 10;
  CHECK(mentions(plan::structural_violations(g, c, crowded),
                 "stage 0: 10 samples in flight are more than the mini-batch of 8"));
  Plan endless = diamond_plan();
  endless.training.mini_batch = plan::kMostSamples * 2;
  CHECK(mentions(plan::structural_violations(g, c, endless), "a mini-batch has 1 to 16777216 samples"));
  CHECK(mentions(plan::structural_violations(g, c, endless), "passes; at most"));
  // 2^40 bytes made and 2^40 kept by one operator: 2^17 samples are 2^58 bytes, which is as much as may be.
  graph::GraphBuilder wide("wide");
  graph::Operator all;
  all.name = "all";
  all.output_bytes = all.saved_bytes = core::Bytes(std::int64_t{1} << 40);
  wide.add(all);
  const graph::OpGraph huge = wide.build();
  CHECK_FALSE(plan::mini_batch_violation(huge, 1 << 17));
  CHECK(plan::mini_batch_violation(huge, (1 << 17) + 1).value_or("") ==
        "131073 samples of 2.2e+12 bytes each are more than 256 PiB");
  Plan backwards = diamond_plan();
  backwards.stages[0].after = {StageId(1)};
  CHECK(mentions(plan::structural_violations(g, c, backwards), "'after' must name an earlier stage"));
  backwards.stages[0].after = {StageId(0)};
  CHECK(mentions(plan::structural_violations(g, c, backwards), "'after' must name an earlier stage"));
}
