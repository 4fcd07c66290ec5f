// The same plan, always: whatever the number of threads.

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <string>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/planners/planner.hpp"

using namespace penstock;

namespace {

struct Found {
  std::string plan;
  double bottleneck;
  bool operator==(const Found&) const = default;
};

Found search(const cost::Problem& problem, const char* planner, bool per_stage, std::size_t threads) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  planners::SearchOptions options;
  options.per_stage_micro_batch = per_stage;
  const auto found = planners::planner(planner).plan(problem, options, {});
  return {plan::to_yaml(problem.graph, found.plan), found.bottleneck};
}

}  // namespace

TEST_CASE("1, 2 and 4 threads find the same plan, byte by byte") {
  const cost::AnalyticCosts costs;
  const auto cluster = cluster::load_cluster(PENSTOCK_SOURCE "/experiments/clusters/summit.yaml").first(8);
  for (const char* model : {"mmt", "dlrm", "candle_uno", "inception_v3"}) {
    const auto graph = models::build(model, {});
    const cost::Problem problem{graph, cluster, costs, {64, plan::Optimizer::sgd}};
    for (const char* planner : {"graphpipe", "spp"})
      for (bool per_stage : {false, true}) {
        CAPTURE(model);
        CAPTURE(planner);
        CAPTURE(per_stage);
        const Found alone = search(problem, planner, per_stage, 1);
        CHECK(search(problem, planner, per_stage, 2) == alone);
        CHECK(search(problem, planner, per_stage, 4) == alone);
      }
    for (const char* planner : {"pipedream", "pipedream_2bw"}) {
      CAPTURE(model);
      CAPTURE(planner);
      const Found alone = search(problem, planner, false, 1);
      CHECK(search(problem, planner, false, 2) == alone);
      CHECK(search(problem, planner, false, 4) == alone);
    }
  }
}
