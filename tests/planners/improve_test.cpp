// joint from a given plan: where stages begin and end, by whole layers, as good as any.

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/plan/layer_row.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/checkout.hpp"

using namespace penstock;

namespace {

const cost::AnalyticCosts kAnalytic;

core::Seconds simulated(const cost::Problem& problem, const plan::Plan& plan) {
  return core::to_seconds(sim::simulate_time(problem, score::scheduled(problem, plan)));
}

/// A model that is a row of layers, on ranks of one device each.
struct LayerProblem {
  LayerProblem(const char* model, const std::map<std::string, std::string>& parameters, int ranks,
               plan::Recomputation recomputation = {})
      : again(recomputation),
        graph(models::build(model, parameters)),
        cluster(cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(ranks)) {
    parts = std::get<plan::LayerRow>(plan::layer_row(graph));
  }

  /// Stages with so many parts of the row each.
  plan::Plan plan(const std::vector<std::int32_t>& sizes) const {
    plan::Plan out;
    out.training = problem.training;
    out.schedule = sizes.size() > cluster.size() ? "interleaved_1f1b" : "1f1b";
    std::int32_t begin = 0;
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      plan::Stage& stage = out.stages.emplace_back();
      for (std::size_t v = 0; v < graph.size(); ++v)
        if (parts.part_of[v] >= begin && parts.part_of[v] < begin + sizes[s]) stage.operators.emplace_back(v);
      begin += sizes[s];
      stage.devices.emplace_back(s % cluster.size());
      stage.micro_batch = 1;
      if (plan::applies(graph, stage.operators, again)) stage.recompute = again;
    }
    score::derive_in_flight(problem, out);
    return out;
  }

  plan::Plan improved(const plan::Plan& from, planners::OwnOptions own) const {
    planners::SearchOptions options;
    options.evaluate = [&](const plan::Plan& plan) { return simulated(problem, plan); };
    options.from = &from;
    options.own = std::move(own);
    return planners::planner("joint").plan(problem, options, {}).plan;
  }

  plan::Recomputation again;
  graph::OpGraph graph;
  cluster::Cluster cluster;
  plan::LayerRow parts;
  cost::Problem problem{graph, cluster, kAnalytic, {8, plan::Optimizer::adam}};
};

/// Every way to cut `parts` into so many stages, none empty.
template <class Visit>
void for_each_cut(std::int32_t parts, std::size_t stages, std::vector<std::int32_t>& sizes,
                  const Visit& visit) {
  if (sizes.size() + 1 == stages) {
    sizes.push_back(parts);
    visit(sizes);
    sizes.pop_back();
    return;
  }
  const auto left = static_cast<std::int32_t>(stages - sizes.size() - 1);
  for (std::int32_t size = 1; size <= parts - left; ++size) {
    sizes.push_back(size);
    for_each_cut(parts - size, stages, sizes, visit);
    sizes.pop_back();
  }
}

/// The fewest seconds of all cuts, and the plan that takes most.
struct CutExtremes {
  core::Seconds least{std::numeric_limits<double>::infinity()}, most{0};
  plan::Plan slowest;
};

CutExtremes extremes(const LayerProblem& row, std::size_t stages) {
  CutExtremes out;
  std::vector<std::int32_t> sizes;
  for_each_cut(row.parts.parts(), stages, sizes, [&](const std::vector<std::int32_t>& cut) {
    plan::Plan plan = row.plan(cut);
    if (!score::violations(row.problem, plan).empty()) return;
    const core::Seconds time = simulated(row.problem, plan);
    out.least = std::min(out.least, time);
    if (time > out.most) out.most = time, out.slowest = std::move(plan);
  });
  return out;
}

const std::map<std::string, std::string> kBigHead = {
    {"layers", "8"},     {"hidden", "256"},       {"heads", "4"},        {"kv_heads", "2"},
    {"sequence", "128"}, {"feed_forward", "512"}, {"vocabulary", "8000"}};

void check_best_cut(const LayerProblem& row, std::size_t stages) {
  const CutExtremes known = extremes(row, stages);
  REQUIRE(known.least < known.most);
  const plan::Plan found = row.improved(known.slowest, {{"change", "cuts"}, {"units", "layers"}});
  CHECK(score::violations(row.problem, found) == std::vector<std::string>{});
  CHECK(simulated(row.problem, found) == known.least);
  REQUIRE(found.stages.size() == stages);
  for (std::size_t s = 0; s < stages; ++s) {
    CHECK(found.stages[s].devices == known.slowest.stages[s].devices);
    if (plan::applies(row.graph, found.stages[s].operators, row.again))
      CHECK(found.stages[s].recompute == row.again);
  }
}

}  // namespace

TEST_CASE("from the slowest cut of a row of layers to the fastest there is") {
  check_best_cut(LayerProblem("llama", kBigHead, 4), 4);
  check_best_cut(LayerProblem("llama", kBigHead, 2), 4);
  check_best_cut(LayerProblem("gpt", {{"layers", "6"}, {"vocabulary", "20000"}, {"sequence", "64"}}, 4), 4);
  check_best_cut(LayerProblem("llama", kBigHead, 4, plan::kRecomputeLayers), 4);
}

TEST_CASE("every part of a plan may change by default, and the result is never slower") {
  const LayerProblem row("llama", kBigHead, 4);
  const plan::Plan even = row.plan({3, 3, 2, 2});
  const plan::Plan found = row.improved(even, {{"evaluations", "200"}});
  CHECK(score::violations(row.problem, found) == std::vector<std::string>{});
  CHECK(simulated(row.problem, found) < simulated(row.problem, even));
}

TEST_CASE("plans that it cannot begin with are refused in words") {
  const LayerProblem row("llama", kBigHead, 4);
  plan::Plan inside = row.plan({3, 3, 2, 2});
  inside.stages[1].operators.push_back(inside.stages[0].operators.back());
  inside.stages[0].operators.pop_back();
  CHECK_THROWS_WITH_AS(row.improved(inside, {{"units", "layers"}}),
                       "a stage of the plan begins inside a layer, at 'layer1.add2' or before",
                       core::BadInput);
  plan::Plan endless = row.plan({3, 3, 2, 2});
  endless.schedule = "pipedream";
  CHECK_THROWS_AS(row.improved(endless, {}), core::BadInput);
  const auto branches = models::build("case_study", {{"layers", "2"}});
  const cost::Problem problem{branches, row.cluster, kAnalytic, {8, plan::Optimizer::adam}};
  planners::SearchOptions options;
  options.own = {{"units", "layers"}};
  CHECK_THROWS_WITH_AS(
      planners::planner("joint").plan(problem, options, {}),
      "units=layers: its layers are no single row, numbered from 0: branch0.layer0 comes behind branch0",
      core::BadInput);
}
