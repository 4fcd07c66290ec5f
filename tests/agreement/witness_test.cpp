// Formula against simulation: neither includes the other.

#include <doctest/doctest.h>

#include <set>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/summary.hpp"
#include "support/checkout.hpp"

using namespace penstock;

namespace {

/// The formula counts the fullest moment a stage could have; the simulator sees the fullest it has. Only
/// activations must agree exactly, where a stage really fills its in-flight count on an even split.
void check_memory(const cost::Problem& problem, const plan::Plan& plan, const trace::Summary& summary) {
  const auto memories = score::stage_memories(problem, plan);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    const auto& formula = memories[s];
    for (core::DeviceId d : stage.devices) {
      const trace::DeviceSummary& device = summary.devices[d.index()];
      CHECK(device.peak <= plan::total(formula));
      CHECK(at(device.at_peak, plan::MemoryKind::weights) == at(formula, plan::MemoryKind::weights));
      CHECK(at(device.at_peak, plan::MemoryKind::activations) <= at(formula, plan::MemoryKind::activations));
    }
  }
}

/// No device can compute less than its share of the mini-batch: a bound no schedule beats.
void check_time(const cost::Problem& problem, const plan::Plan& plan, const trace::Summary& summary) {
  const auto estimate = score::estimate(problem, plan);
  double busiest = 0;
  for (const auto& terms : estimate.stages)
    busiest = std::max(busiest, terms.compute * static_cast<double>(plan.training.mini_batch));
  CHECK(summary.iteration.value() >= busiest * (1 - 1e-9));
  CHECK(summary.bubble >= 0);
  CHECK(summary.bubble < 1);
}

/// Models with long searches, or with more memory than a V100 has.
const std::set<std::string> kLarge = {"inception_v3", "gpt",         "opt", "llama",  "gpt_neox",
                                      "mixtral",      "deepseek_v3", "vlm", "decoder"};

/// The zoo on these numbers of devices, planned in these ways.
void check_zoo(const std::vector<std::size_t>& sizes, const std::vector<const char*>& planners) {
  const auto summit = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml"));
  const cost::AnalyticCosts costs;
  for (const auto& info : models::catalogue()) {
    if (kLarge.contains(info.name)) continue;
    const auto graph = models::build(info.name);
    for (std::size_t devices : sizes) {
      const auto cluster = summit.first(devices);
      const cost::Problem problem{graph, cluster, costs, {64, plan::Optimizer::adam}};
      for (const char* planner : planners) {
        CAPTURE(info.name);
        CAPTURE(planner);
        const auto plan = planners::planner(planner).plan(problem, {}, {}).plan;
        const auto summary = trace::summarise(sim::simulate(problem, {problem.graph, plan}));
        check_memory(problem, plan, summary);
        check_time(problem, plan, summary);
      }
    }
  }
}

}  // namespace

TEST_CASE(
    "simulated memory stays within the formula, simulated time above the busiest stage, on the whole zoo") {
  check_zoo({4}, {"graphpipe"});
  check_zoo({8}, {"spp"});
}

TEST_CASE("simulated memory and time keep these bounds with more planners" * doctest::test_suite("slow")) {
  check_zoo({4, 8}, {"graphpipe", "graphpipe_rows", "spp"});
}
