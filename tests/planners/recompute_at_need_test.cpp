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

struct Case {
  explicit Case(std::int64_t memory, std::map<std::string, std::string> given = kDeep,
                const std::string& model = "gpt")
      : graph(models::build(model, given)), cluster(support::tiny_cluster(4, memory)) {}
  plan::Plan planned(const std::string& planner) const {
    const cost::Problem problem{graph, cluster, costs, {64, plan::Optimizer::adam}};
    planners::SearchOptions options;
    options.micro_batch = 16;
    auto found = planners::planner(planner).plan(problem, options, {}).plan;
    const auto faults = score::faults(problem, found);
    CHECK_MESSAGE(faults.empty(), (faults.empty() ? "" : faults.front()));
    return found;
  }
  graph::OpGraph graph;
  cluster::Cluster cluster;
  cost::AnalyticCosts costs;
};

bool by_layer(const plan::Plan& plan) {
  return std::ranges::all_of(plan.stages,
                             [](const auto& stage) { return stage.recompute == plan::kRecomputeLayers; });
}
bool by_nothing(const plan::Plan& plan) {
  return std::ranges::none_of(plan.stages, [](const auto& stage) { return bool(stage.recompute); });
}

}  // namespace

TEST_CASE("megatron and data_parallel compute layers again where they do not fit else") {
  for (const char* planner : {"megatron", "data_parallel"}) {
    CAPTURE(planner);
    CHECK(by_nothing(Case(std::int64_t{1} << 40).planned(planner)));
    // Halved until nothing fits: layers are computed again in between, and in no plan before.
    bool recomputed = false, fits = true;
    for (std::int64_t memory = std::int64_t{1} << 33; fits; memory /= 2) {
      CAPTURE(memory);
      try {
        const plan::Plan found = Case(memory).planned(planner);
        CHECK((by_layer(found) || (by_nothing(found) && !recomputed)));
        if (std::string(planner) == "megatron")  // shares before it computes anything again
          for (const plan::Stage& stage : found.stages) {
            CHECK((stage.zero > 0 || stage.replicas() == 1 || !stage.recompute));
            CHECK((stage.sequence_parallel || stage.tensor_parallel == 1 || stage.zero == 0));
            CHECK((!stage.sequence_parallel || stage.tensor_parallel > 1));
          }
        recomputed = by_layer(found);
      } catch (const core::Infeasible&) {
        fits = false;
      }
    }
    CHECK(recomputed);
  }
}

TEST_CASE("a model without layers is not computed again") {
  const Case model(std::int64_t{1} << 20, {}, "vgg16");
  for (const char* planner : {"megatron", "data_parallel"})
    CHECK_THROWS_AS(model.planned(planner), core::Infeasible);
}
