// Plans of models with adapters: no violation in their traces, no time below the bounds.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/catalogue.hpp"
#include "penstock/check/trace_violations.hpp"
#include "penstock/cluster/short_form.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/curve_costs.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/problem_bound.hpp"
#include "penstock/sim/simulate.hpp"

using namespace penstock;

namespace {

std::string choice(core::Random& random, std::initializer_list<const char*> of) {
  return *(of.begin() + random.between(0, static_cast<int>(of.size()) - 1));
}

graph::OpGraph random_llama(core::Random& random, const std::string& products) {
  const std::string frozen =
      products == "stored" ? choice(random, {"16", "8", "4"}) : choice(random, {"16", "8"});
  return models::build("llama",
                       {{"layers", std::to_string(random.between(2, 5))},
                        {"hidden", std::to_string(512 * random.between(1, 3))},
                        {"heads", "8"},
                        {"kv_heads", choice(random, {"8", "4"})},
                        {"feed_forward", std::to_string(1024 * random.between(1, 4))},
                        {"sequence", std::to_string(256 * random.between(1, 4))},
                        {"vocabulary", "4096"},
                        {"loss", "yes"},
                        {"attention", "flash"},
                        {"element_bytes", "2"},
                        {"products", products},
                        {"lora", fmt::format("rank={},targets={},frozen={}", 8 * random.between(1, 8),
                                             choice(random, {"attention", "mlp", "all"}), frozen)}});
}

/// Sharding, tensor parallelism and recomputation at random, where the stage allows them.
void vary(plan::Plan& plan, core::Random& random) {
  const bool full = random.chance(0.3);
  const int zero = random.chance(0.4) ? random.between(1, 3) : 0;
  for (plan::Stage& stage : plan.stages) {
    if (full) stage.recompute = plan::kRecomputeLayers;
    if (stage.zero == 0) stage.zero = zero;
  }
}

}  // namespace

TEST_CASE("random plans with adapters: bounds hold, and the traces have no violation") {
  core::Random random(16);
  const cost::CurveCosts curves;
  int judged = 0;
  for (int trial = 0; trial < 16; ++trial) {
    const std::string products = choice(random, {"stored", "stored", "fp8_delayed"});
    const graph::OpGraph graph = random_llama(random, products);
    const cluster::Cluster cluster =
        curves.completed(cluster::load_cluster("8xH100").first(random.between(1, 4)));
    plan::Training training{8 * random.between(1, 2), plan::Optimizer::adam};
    training.precision = plan::mixed_precision(products == "stored" ? "mixed_bf16" : products);
    const cost::Problem problem{graph, cluster, curves, training};
    for (const auto& planner : planners::catalogue()) {
      if (planner.name != "pipedream" && planner.name != "dapple" && planner.name != "megatron") continue;
      CAPTURE(trial);
      CAPTURE(planner.name);
      plan::Plan plan = planner.plan(problem, {}, {}).plan;
      const plan::Plan found = plan;
      vary(plan, random);
      if (!plan::structural_violations(graph, cluster, plan).empty()) plan = found;
      const auto scheduled = score::scheduled(problem, plan);
      const auto trace = sim::simulate(problem, scheduled);
      for (const auto& violation : check::trace_violations(problem, scheduled, trace)) FAIL_CHECK(violation);
      const auto bounds =
          score::problem_bounds(problem, score::ReductionTiming::closed_form, score::family_of(plan));
      CHECK(bounds.holds_for(plan).time.value() <= to_seconds(trace.iteration).value() * (1 + 1e-9));
      ++judged;
    }
  }
  CHECK(judged == 48);
}
