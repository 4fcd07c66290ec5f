#include "penstock/cost/length_times.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/profile.hpp"
#include "penstock/graph/work.hpp"
#include "support/judged_plan.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using layout::SampleFill;

namespace {

graph::OpGraph gpt(std::int64_t sequence) {
  return models::build("gpt", {{"layers", "2"},
                               {"hidden", "64"},
                               {"heads", "4"},
                               {"vocabulary", "128"},
                               {"positions", "512"},
                               {"attention", "flash"},
                               {"mask", "none"},
                               {"sequence", std::to_string(sequence)}});
}

/// All operators on one stage of one device.
plan::Stage all(const graph::OpGraph& graph, std::int64_t micro_batch) {
  return support::stage_of(0, graph.size(), 1, micro_batch);
}

cost::OpTime filled(const cost::Problem& problem, const plan::Stage& stage, const SampleFill& fill) {
  cost::ShorterModels models(problem);
  return cost::LengthTimes(models, stage, {stage.operators}, {stage.micro_batch}).times(0, fill)[0].total();
}

}  // namespace

TEST_CASE("equal lengths at a knot take what a model of that length takes, to the last bit") {
  const auto cluster = support::tiny_cluster(1);
  const cost::AnalyticCosts costs;
  const auto g = gpt(512);
  const plan::Stage stage = all(g, 3);
  for (const std::int64_t tokens : {1, 32, 64, 128, 320, 512}) {
    CAPTURE(tokens);
    const auto shorter = gpt(tokens);
    const auto exact = cost::stage_time({shorter, cluster, costs, {}}, stage, 3).total();
    const auto length = static_cast<double>(tokens);
    const auto time = filled({g, cluster, costs, {}}, stage, {length, length});
    CHECK(time.forward.value() == exact.forward.value());
    CHECK(time.input_gradient.value() == exact.input_gradient.value());
    CHECK(time.weight_gradient.value() == exact.weight_gradient.value());
  }
}

TEST_CASE("between knots times are near those of a model of that length") {
  const auto cluster = support::tiny_cluster(1);
  const cost::AnalyticCosts costs;
  const auto g = gpt(512);
  const plan::Stage stage = all(g, 2);
  for (const std::int64_t tokens : {9, 47, 50, 100, 200, 333, 500}) {
    CAPTURE(tokens);
    const auto shorter = gpt(tokens);
    const auto exact = cost::stage_time({shorter, cluster, costs, {}}, stage, 2).total().total();
    const auto length = static_cast<double>(tokens);
    CHECK(filled({g, cluster, costs, {}}, stage, {length, length}).total().value() ==
          support::near(exact.value(), 0.01));
  }
}

TEST_CASE("costs in proportion to FLOPs: unlike lengths by hand") {
  const auto cluster = support::tiny_cluster(1);
  const support::FlopCosts costs;
  const auto g = gpt(64);
  // Scores and the weighted sum of two layers, forward and twice that back, of one full sample.
  const double core = 2 * 3.0 * 2 * 2 * 64 * 64 * 64, rest = graph::training_flops(g).value() - core;
  // Two samples of 50 and 7 tokens: 57 of 64 tokens, and the squares of both lengths.
  const double tokens = 50 + 7, squares = 50 * 50 + 7 * 7;
  const auto time = filled({g, cluster, costs, {}}, all(g, 2), {tokens / 2, squares / tokens});
  CHECK(time.total().value() == support::near((rest * tokens / 64 + core * squares / (64 * 64)) / 1e9, 1e-9));
}

TEST_CASE("models without sequences and costs of full samples are refused") {
  const auto cluster = support::tiny_cluster(1);
  const cost::AnalyticCosts analytic;
  const auto dlrm = models::build("dlrm", {});
  const cost::Problem without{dlrm, cluster, analytic, {}};
  CHECK_THROWS_WITH_AS(cost::ShorterModels{without}, "dlrm has no attention, so its samples are no sequences",
                       core::BadInput);
  const auto g = gpt(8);
  const cost::ProfileCosts profile("V100", {});
  const cost::Problem profiled{g, cluster, profile, {}};
  CHECK_THROWS_WITH_AS(cost::ShorterModels{profiled},
                       "costs (profile of V100) are of full samples, whatever their lengths", core::BadInput);
}
