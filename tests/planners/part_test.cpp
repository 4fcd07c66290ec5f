// joint on many devices: a part of them first, and its plan repeated.

#include "joint/part.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"
#include "support/near.hpp"

using namespace penstock;

namespace {

const cost::AnalyticCosts kAnalytic;

/// Nodes of devices with `memory` each; `network` joins the nodes.
cluster::Cluster nodes(std::size_t count, std::size_t devices, const char* memory = "16GiB",
                       const char* network = "100Gb/s", const char* last = "") {
  return cluster::parse_cluster(fmt::format(R"(name: nodes
device_types:
  d: {{memory: {0}, memory_bandwidth: 1TB/s, multiprocessors: 80, launch_overhead: 5us, peak: {{fp32: 10TFLOP/s}}}}
  e: {{memory: {0}, memory_bandwidth: 2TB/s, multiprocessors: 80, launch_overhead: 5us, peak: {{fp32: 20TFLOP/s}}}}
nodes:
  - {{count: {1}, device: d, devices: {2}, link: {{bandwidth: 50GB/s, latency: 1us}}, uplink: {{bandwidth: {3}, latency: 1us}}}}
{4})",
                                            memory, count, devices, network, last),
                                "nodes.yaml");
}

/// One more node.
constexpr const char* kFaster =
    "  - {count: 1, device: e, devices: 8, link: {bandwidth: 50GB/s, latency: 1us}, uplink: {bandwidth: "
    "100Gb/s, latency: 1us}}\n";

void judge(const cost::Problem& problem, planners::SearchOptions& options) {
  options.evaluate = experiment::simulated_time(problem, {});
  options.evaluate_against = experiment::simulated_time_against(problem, {});
}

/// Options as in searches of experiments.
planners::SearchOptions judged(const cost::Problem& problem) {
  planners::SearchOptions options;
  judge(problem, options);
  options.judge_another = judge;
  return options;
}

using Sizes = std::vector<std::size_t>;

/// A small model, and the sizes of its parts.
struct PartSizes {
  graph::OpGraph graph = models::build("case_study", {{"layers", "1"}});
  Sizes sizes(const cluster::Cluster& cluster, std::int64_t mini_batch,
              const std::function<void(planners::SearchOptions&)>& change = {}) const {
    const cost::Problem problem{graph, cluster, kAnalytic, {mini_batch, plan::Optimizer::sgd}};
    auto options = judged(problem);
    if (change) change(options);
    return planners::part_sizes(problem, options);
  }
};

}  // namespace

TEST_CASE_FIXTURE(PartSizes, "parts are whole nodes, sixteen devices or more, a quarter of all at most") {
  CHECK(sizes(nodes(8, 8), 512).empty());  // searched at once
  CHECK(sizes(nodes(16, 8), 512) == Sizes{16, 32});
  CHECK(sizes(nodes(32, 8), 512) == Sizes{16, 32, 64});
  CHECK(sizes(nodes(15, 8), 1920) == Sizes{24});
  CHECK(sizes(nodes(32, 6), 576) == Sizes{24, 48});  // not 16 nor 32, which end within a node
  CHECK(sizes(nodes(7, 8, "16GiB", "100Gb/s", kFaster), 512).empty());
}

TEST_CASE_FIXTURE(PartSizes,
                  "a part has whole samples, room for weights, and what is pinned for all devices not") {
  CHECK(sizes(nodes(32, 8), 8) == Sizes{32, 64});
  CHECK(sizes(nodes(32, 8), 6).empty());
  // Weights and gradients have a quarter of a part's memory at most.
  const std::int64_t state = 2 * graph.parameters() * graph.element_bytes();
  const auto with_room = [&](std::int64_t devices) {
    return sizes(nodes(32, 8, fmt::format("{}B", 4 * state / devices + 1).c_str()), 512);
  };
  CHECK(with_room(16) == Sizes{16, 32, 64});
  CHECK(with_room(24) == Sizes{32, 64});
  CHECK(with_room(64) == Sizes{64});
  CHECK(with_room(65).empty());
  CHECK(sizes(nodes(16, 8), 512, [](auto& options) { options.pipeline_micro_batch = 64; }).empty());
  CHECK(sizes(nodes(16, 8), 512, [](auto& options) { options.judge_another = {}; }).empty());
  CHECK(sizes(nodes(16, 8), 512, [](auto& options) { options.micro_batch = 1; }) == Sizes{16, 32});
}

TEST_CASE("a repeated plan is valid, and takes as long where no message leaves its part") {
  const auto graph = models::build("case_study", {{"layers", "1"}});
  for (const bool fast : {false, true}) {
    const auto cluster = nodes(8, 8, "16GiB", fast ? "1000TB/s" : "1Gb/s");
    const cost::Problem problem{graph, cluster, kAnalytic, {512, plan::Optimizer::sgd}};
    const planners::PartProblem part(problem, 16);
    CHECK(part.problem().cluster.size() == 16);
    CHECK(part.problem().training.mini_batch == 128);
    for (const char* planner : {"data_parallel", "graphpipe", "megatron"}) {
      auto options = judged(part.problem());
      const auto found = planners::planner(planner).plan(part.problem(), options, {});
      const auto whole = part.repeated(found.plan);
      CHECK(score::violations(problem, whole).empty());
      CHECK(whole.training.mini_batch == 512);
      for (std::size_t s = 0; s < whole.stages.size(); ++s) {
        CHECK(whole.stages[s].replicas() == 4 * found.plan.stages[s].replicas());
        CHECK(whole.stages[s].micro_batch == 4 * found.plan.stages[s].micro_batch);
      }
      const double once = options.evaluate(found.plan).value(),
                   often = experiment::simulated_time(problem, {})(whole).value();
      CAPTURE(planner);
      if (fast)
        CHECK(often == support::near(once, 0.03));
      else
        CHECK(often > once);
    }
  }
}

TEST_CASE("joint on many devices is never slower than its part's plan, and reports the part's prediction") {
  const auto graph = models::build("case_study", {{"layers", "1"}});
  for (const char* network : {"10TB/s", "1Gb/s"}) {
    const auto cluster = nodes(16, 8, "16GiB", network);
    const cost::Problem problem{graph, cluster, kAnalytic, {1024, plan::Optimizer::sgd}};
    const auto found = [&](const char* part, const char* evaluations) {
      auto options = judged(problem);
      options.own = {{"starts", "direct"}, {"part", part}, {"evaluations", evaluations}};
      return planners::planner("joint").plan(problem, options, {});
    };
    const auto time = experiment::simulated_time(problem, {});
    const auto part = found("alone", "300"), all = found("first", "400"), none = found("never", "400");
    CHECK(score::violations(problem, part.plan).empty());
    CHECK(time(all.plan) <= time(part.plan));
    CHECK(time(all.plan) <= time(found("never", "0").plan));
    REQUIRE(part.estimate);
    const bool alike = time(part.plan) <= *part.estimate * 1.1;
    CHECK(alike == (std::string_view(network) == "10TB/s"));
    // Where the part foretold well, a quarter is left for all devices; else all of it.
    const auto states = [](const planners::SearchResult& result) {
      return static_cast<double>(result.states);
    };
    if (alike)
      CHECK(states(all) <= states(none) + states(part) - 250);
    else
      CHECK(states(all) >= states(part) + 350);
    CHECK(plan::to_yaml(graph, found("first", "0").plan) == plan::to_yaml(graph, found("never", "0").plan));
  }
}

TEST_CASE("the part is searched first, with the user's limits, if there is one") {
  const auto graph = models::build("case_study", {{"layers", "1"}});
  const auto asked = [&](std::size_t count, planners::OwnOptions own) {
    const auto cluster = nodes(count, 8);
    const cost::Problem problem{graph, cluster, kAnalytic, {512, plan::Optimizer::sgd}};
    auto options = judged(problem);
    options.own = std::move(own);
    auto questions = planners::joint_questions(problem, options);
    CHECK(std::ranges::count(questions.then, "joint", &planners::PlannerChoice::name) == 0);
    return std::pair(questions.first.front(),
                     std::ranges::count(questions.first, "joint", &planners::PlannerChoice::name));
  };
  const auto [first, count] = asked(16, {{"evaluations", "1000"}, {"max_zero", "1"}});
  CHECK(count == 1);
  CHECK(planners::written(first) == "joint:evaluations=750:max_zero=1:part=alone");
  CHECK(asked(8, {}).second == 0);
  CHECK(asked(16, {{"part", "never"}}).second == 0);
  CHECK(asked(16, {{"evaluations", "0"}}).second == 0);
}

TEST_CASE("whole layers come first where a large problem has no part, and operators after them") {
  const auto graph =
      models::build("gpt", {{"layers", "8"}, {"hidden", "256"}, {"heads", "4"}, {"sequence", "64"}});
  const auto cluster = nodes(63, 8, "16GiB", "100Gb/s", kFaster);  // nodes that do not repeat
  const cost::Problem problem{graph, cluster, kAnalytic, {512, plan::Optimizer::sgd}};
  const auto search = [&](planners::OwnOptions own) {
    planners::SearchOptions options;  // by the estimate, which is soon made
    options.own = std::move(own);
    auto found = planners::planner("joint").plan(problem, options, {});
    CHECK(score::violations(problem, found.plan).empty());
    return found;
  };
  auto options = judged(problem);
  options.own = {{"evaluations", "40"}};
  const auto asked = planners::joint_questions(problem, options);
  REQUIRE(
      asked.first.front() ==
      planners::PlannerChoice{
          "joint", {{"evaluations", "20"}, {"part", "never"}, {"starts", "direct"}, {"units", "layers"}}});
  options.own["units"] = "layers";
  CHECK(std::ranges::count(planners::joint_questions(problem, options).first, "joint",
                           &planners::PlannerChoice::name) == 0);
  const auto time = [&](const plan::Plan& plan) { return score::estimate(problem, plan).iteration; };
  const auto both = search({{"evaluations", "40"}}), layers = search(asked.first.front().options);
  CHECK(time(both.plan) <= time(layers.plan));
  CHECK(both.states > layers.states + 10);
}

TEST_CASE("a part without a plan is no answer") {
  const auto graph = models::build("case_study", {{"layers", "1"}});
  const auto cluster = nodes(4, 8);
  const cost::Problem problem{graph, cluster, kAnalytic, {512, plan::Optimizer::sgd}};
  auto options = judged(problem);
  options.own = {{"part", "alone"}};
  CHECK_THROWS_AS(planners::planner("joint").plan(problem, options, {}), core::Infeasible);
}
