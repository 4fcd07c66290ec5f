// Planners that compute layers again where nothing fits else.

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/validate.hpp"
#include "support/tiny.hpp"

using namespace penstock;

namespace {

const std::map<std::string, std::string> kDeep = {{"layers", "8"},       {"hidden", "64"},
                                                  {"heads", "4"},        {"sequence", "256"},
                                                  {"vocabulary", "500"}, {"loss", "yes"}};

struct MemoryCase {
  explicit MemoryCase(std::int64_t memory, std::map<std::string, std::string> given = kDeep,
                      const std::string& model = "gpt")
      : graph(models::build(model, given)), cluster(support::tiny_cluster(4, memory)) {}
  plan::Plan planned(const std::string& planner) const {
    const cost::Problem problem{graph, cluster, costs, {64, plan::Optimizer::adam}};
    planners::SearchOptions options;
    options.micro_batch = 16;
    auto found = planners::planner(planner).plan(problem, options, {}).plan;
    const auto violations = score::violations(problem, found);
    CHECK_MESSAGE(violations.empty(), (violations.empty() ? "" : violations.front()));
    return found;
  }
  graph::OpGraph graph;
  cluster::Cluster cluster;
  cost::AnalyticCosts costs;
};

/// 0: nothing, 1: cores of attention, 2: layers, in all stages that have some.
int again(const plan::Plan& plan) {
  int out = 0;
  for (const auto& stage : plan.stages) {
    const int here = stage.recompute == plan::kRecomputeLayers ? 2 : stage.recompute == plan::kRecomputeCore;
    CHECK(bool(stage.recompute) == (here > 0));
    if (here > 0) CHECK((out == 0 || out == here));
    out = std::max(out, here);
  }
  return out;
}

}  // namespace

TEST_CASE("megatron and data_parallel compute cores, then layers, again where they do not fit else") {
  for (const char* planner : {"megatron", "data_parallel"}) {
    CAPTURE(planner);
    CHECK(again(MemoryCase(std::int64_t{1} << 40).planned(planner)) == 0);
    // Less by a tenth until nothing fits: cores are computed again in between, then layers.
    bool fits = true;
    std::set<int> seen;
    for (std::int64_t memory = std::int64_t{1} << 30; fits; memory = memory / 10 * 9) {
      CAPTURE(memory);
      try {
        const plan::Plan found = MemoryCase(memory).planned(planner);
        seen.insert(again(found));
        if (std::string(planner) == "megatron")  // shares before it computes anything again
          for (const plan::Stage& stage : found.stages) {
            CHECK((stage.zero > 0 || stage.replicas() == 1 || !stage.recompute));
            CHECK((stage.sequence_parallel || stage.tensor_parallel == 1 || stage.zero == 0));
            CHECK((!stage.sequence_parallel || stage.tensor_parallel > 1));
          }
      } catch (const core::Infeasible&) {
        fits = false;
      }
    }
    CHECK(seen == std::set<int>{0, 1, 2});
  }
}

TEST_CASE("a model without layers is not computed again") {
  const MemoryCase model(std::int64_t{1} << 20, {}, "vgg16");
  for (const char* planner : {"megatron", "data_parallel"})
    CHECK_THROWS_AS(model.planned(planner), core::Infeasible);
}
