// Every planner at a limit: in time, with the best plan so far or a word about it.

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <atomic>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/validate.hpp"
#include "support/checkout.hpp"

using namespace penstock;

namespace {

/// Layers in a row, no two equal.
graph::OpGraph long_chain(std::size_t layers) {
  graph::GraphBuilder builder("chain");
  for (std::size_t v = 0; v < layers; ++v) {
    graph::Operator op;
    op.name = "layer_" + std::to_string(v);
    op.kind = graph::OpKind::linear;
    const double work = 1e9 + 1e6 * static_cast<double>(v * v % 997);
    op.forward_flops = op.input_gradient_flops = op.weight_gradient_flops = core::Flops(work);
    op.parameters = 100000 + static_cast<std::int64_t>(v * 7919 % 10007);
    op.output_bytes = op.saved_bytes = core::Bytes(100000 + static_cast<std::int64_t>(v * 31 % 1009));
    builder.add(op);
    if (v > 0) builder.add_edge(core::OpId(v - 1), core::OpId(v));
  }
  return builder.build();
}

/// Requests a stop after so many calls, and counts later ones.
class StoppingCosts final : public cost::CostModel {
 public:
  StoppingCosts(std::int64_t until, std::atomic<bool>& stop) : until_(until), stop_(stop) {}
  cost::OpTime op_time(const graph::OpGraph& graph, core::OpId op, const cluster::DeviceType& device,
                       std::int64_t samples) const override {
    if (++calls_ >= until_) stop_ = true;
    return costs_.op_time(graph, op, device, samples);
  }
  std::int64_t later() const { return std::max<std::int64_t>(0, calls_ - until_); }

 private:
  cost::AnalyticCosts costs_;
  std::int64_t until_;
  std::atomic<bool>& stop_;
  mutable std::atomic<std::int64_t> calls_{0};
};

/// Operators whose time was queried after a stop, each counted every time.
std::int64_t asked_later(const planners::PlannerInfo& planner, const graph::OpGraph& graph,
                         const cluster::Cluster& cluster, std::int64_t until, bool limit) {
  std::atomic<bool> stop{false};
  const StoppingCosts costs(until, stop);
  const cost::Problem problem{graph, cluster, costs, {1024, plan::Optimizer::sgd}};
  stop = until == 0;
  try {
    (void)planner.plan(problem, {}, limit ? core::StopToken().until_full(stop) : core::StopToken(&stop));
  } catch (const core::Error&) {  // stopped, or no plan
  }
  return costs.later();
}

}  // namespace

TEST_CASE("with time to spare a result is complete, without any there is none") {
  const auto graph = models::build("mmt");
  const auto cluster = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(4);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {32, plan::Optimizer::sgd}};
  const auto& planner = planners::planner("graphpipe");
  CHECK(planner.plan(problem, {}, core::StopToken().within(core::Seconds(600))).complete);
  CHECK(planner.plan(problem, {}, {}).complete);
  CHECK_THROWS_AS(planner.plan(problem, {}, core::StopToken().within(core::Seconds(0))), core::TimedOut);
}

TEST_CASE("planners that judge many plans return the best until a limit, or report that there is none") {
  // The fifth evaluation reaches the limit: of some forty plans a few are judged.
  const tbb::global_control two(tbb::global_control::max_allowed_parallelism, 2);
  const auto graph = models::build("case_study");
  const auto cluster = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(8);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {1024, plan::Optimizer::sgd}};
  std::atomic<int> calls = 0;
  std::atomic<bool> full = false;
  planners::SearchOptions slow;
  slow.evaluate = [&](const plan::Plan&) {
    if (++calls > 4) full = true;
    return core::Seconds(1);
  };
  for (const char* planner : {"megatron", "autopipe", "aceso", "piper", "graphpipe_climb"}) {
    CAPTURE(planner);
    calls = 0;
    full = false;
    const auto found = planners::planner(planner).plan(problem, slow, core::StopToken().until_full(full));
    CHECK_FALSE(found.complete);
    CHECK(score::violations(problem, found.plan).empty());
    CHECK_THROWS_AS(
        planners::planner(planner).plan(problem, slow, core::StopToken().within(core::Seconds(0))),
        core::TimedOut);
  }
}

TEST_CASE(
    "full memory is a limit as the deadline is: after two evaluations of eleven the better plan of the two") {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  const auto graph = models::build("case_study");
  const auto cluster = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(8);
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
    CHECK(score::violations(problem, found.plan).empty());
    CHECK_THROWS_AS(planners::planner(planner).plan(problem, options, stop), core::MemoryFull);
  }
}

namespace {

/// In passes over all operators.
struct StopLimits {
  double after;  ///< number of queries before the stop
  double most;   ///< limit of a planner's queries after it
};

void check_stops(std::size_t layers, const cluster::Cluster& cluster, const std::vector<StopLimits>& stops) {
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  const auto chain = long_chain(layers);
  const auto pass = static_cast<double>(layers);
  for (const auto& planner : planners::catalogue())
    for (const bool limit : {false, true})
      for (const StopLimits& stop : stops) {
        CAPTURE(planner.name);
        CAPTURE(limit);
        CAPTURE(stop.after);
        const auto until = static_cast<std::int64_t>(stop.after * pass);
        CHECK(static_cast<double>(asked_later(planner, chain, cluster, until, limit)) <= stop.most * pass);
      }
}

}  // namespace

TEST_CASE("a stop before or soon after the start ends every planner within few evaluations") {
  // Enough to prepare a search of each of eleven micro-batch sizes, or to judge the best plan so far. Without
  // a limit most planners check 40 to 1,000 times.
  const auto cluster =
      cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml")).first(16);
  check_stops(60, cluster, {{0, 3}, {0.5, 12}, {10, 12}, {30, 12}});
}

TEST_SUITE_BEGIN("slow");

TEST_CASE("a stop in a long search ends every planner within few evaluations") {
  const auto cluster = cluster::load_cluster(support::checkout("/experiments/clusters/summit.yaml"));
  check_stops(300, cluster, {{0, 3}, {0.5, 12}, {10, 12}, {100, 25}});
}

TEST_SUITE_END();
