// Every planner at a limit: in time, with the best plan so far or a word about it.

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/validate.hpp"

using namespace penstock;

namespace {

using Clock = std::chrono::steady_clock;

/// Layers in a row, no two alike.
graph::OpGraph long_chain(std::size_t layers) {
  graph::GraphBuilder builder("chain");
  for (std::size_t v = 0; v < layers; ++v) {
    graph::Operator op;
    op.name = "layer_" + std::to_string(v);
    op.kind = graph::OpKind::linear;
    const double work = 1e9 + 1e6 * static_cast<double>(v * v % 997);
    op.forward_flops = op.input_gradient_flops = op.weight_gradient_flops = core::Flops(work);
    op.parameters = 100000 + static_cast<std::int64_t>(v * 7919 % 10007);
    op.output_bytes = op.kept_bytes = core::Bytes(100000 + static_cast<std::int64_t>(v * 31 % 1009));
    builder.add(op);
    if (v > 0) builder.add_edge(core::OpId(v - 1), core::OpId(v));
  }
  return builder.build();
}

/// Seconds beyond the limit until the planner returned; its plan, if any, is valid.
double overrun(const planners::PlannerInfo& planner, const cost::Problem& problem, double limit) {
  const auto begin = Clock::now();
  std::optional<planners::SearchResult> found;
  try {
    found = planner.plan(problem, {}, core::StopToken().within(core::Seconds(limit)));
  } catch (const core::Error& e) {  // timed out, too large to try every plan, or no plan
    CAPTURE(std::string(e.what()));
    CHECK((e.code() == core::ExitCode::limit || e.code() == core::ExitCode::infeasible));
  }
  const std::chrono::duration<double> took = Clock::now() - begin;
  if (found) CHECK(score::faults(problem, found->plan).empty());
  return took.count() - limit;
}

}  // namespace

TEST_CASE("with time to spare a result is complete, without any there is none") {
  const auto graph = models::build("mmt");
  const auto cluster = cluster::load_cluster(PENSTOCK_SOURCE "/experiments/clusters/summit.yaml").first(4);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {32, plan::Optimizer::sgd}};
  const auto& planner = planners::planner("graphpipe");
  CHECK(planner.plan(problem, {}, core::StopToken().within(core::Seconds(600))).complete);
  CHECK(planner.plan(problem, {}, {}).complete);
  CHECK_THROWS_AS(planner.plan(problem, {}, core::StopToken().within(core::Seconds(0))), core::TimedOut);
}

TEST_CASE("planners that judge many plans return the best until the deadline, or say that there is none") {
  // The first four evaluations take no time, the next ones last beyond the deadline: of some forty plans a
  // few are judged.
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
  const auto graph = models::build("case_study");
  const auto cluster = cluster::load_cluster(PENSTOCK_SOURCE "/experiments/clusters/summit.yaml").first(8);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {1024, plan::Optimizer::sgd}};
  std::atomic<int> calls = 0;
  planners::SearchOptions slow;
  slow.evaluate = [&](const plan::Plan&) {
    if (++calls > 4) std::this_thread::sleep_for(std::chrono::milliseconds(250));
    return core::Seconds(1);
  };
  for (const char* planner : {"megatron", "autopipe", "aceso", "piper"}) {
    CAPTURE(planner);
    calls = 0;
    const auto found =
        planners::planner(planner).plan(problem, slow, core::StopToken().within(core::Seconds(0.2)));
    CHECK_FALSE(found.complete);
    CHECK(score::faults(problem, found.plan).empty());
    CHECK_THROWS_AS(
        planners::planner(planner).plan(problem, slow, core::StopToken().within(core::Seconds(0))),
        core::TimedOut);
  }
}

TEST_CASE(
    "full memory is a limit as the deadline is: after two evaluations of eleven the better plan of the two") {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  const auto graph = models::build("case_study");
  const auto cluster = cluster::load_cluster(PENSTOCK_SOURCE "/experiments/clusters/summit.yaml").first(8);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {1024, plan::Optimizer::sgd}};
  for (const char* planner :
       {"graphpipe", "pipedream", "pipedream_2bw", "piper_row", "dapple", "alpa_inter", "spp_luo"}) {
    CAPTURE(planner);
    std::atomic<bool> full{false};
    const core::StopToken stop = core::StopToken().until_full(full);
    std::vector<std::int64_t> sizes;
    planners::SearchOptions options;
    options.evaluate = [&](const plan::Plan& plan) {
      stop.check();
      sizes.push_back(plan.stages.front().micro_batch);
      full = sizes.size() == 2;
      return core::Seconds(sizes.size() == 2 ? 1 : 2);
    };
    const auto found = planners::planner(planner).plan(problem, options, stop);
    CHECK_FALSE(found.complete);
    REQUIRE(sizes.size() == 2);
    CHECK(found.plan.stages.front().micro_batch == sizes[1]);
    CHECK(score::faults(problem, found.plan).empty());
    CHECK_THROWS_AS(planners::planner(planner).plan(problem, options, stop), core::MemoryFull);
  }
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("every planner ends within a second of its limit") {
  const auto cluster = cluster::load_cluster(PENSTOCK_SOURCE "/experiments/clusters/summit.yaml");
  const cost::AnalyticCosts costs;
  const auto inception = models::build("inception_v3"), chain = long_chain(1000);
  for (const graph::OpGraph* graph : {&inception, &chain})
    for (const auto& planner : planners::catalogue())
      for (double limit : {0.05, 0.5, 2.0}) {
        CAPTURE(graph->name());
        CAPTURE(planner.name);
        CAPTURE(limit);
        const cost::Problem problem{*graph, cluster, costs, {1024, plan::Optimizer::sgd}};
        CHECK(overrun(planner, problem, limit) < 1);
      }
}

TEST_SUITE_END();
