// Collectives of context and expert groups and of ZeRO on links: without others they take their closed form,
// beside others they share.

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/check/trace_violations.hpp"
#include "penstock/cost/pass_pieces.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/cables.hpp"
#include "support/fixed_costs.hpp"
#include "support/judged_plan.hpp"
#include "support/near.hpp"
#include "support/planted.hpp"
#include "support/small_mixture.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::OpId;
using sim::PassCollectives;
using support::FlopCosts;
using support::small_mixture;
using support::stage_of;
using trace::TaskKind;

namespace {

/// Layers of two operators each, all of 1000 weights (4 kB).
graph::OpGraph layers(int count) {
  graph::GraphBuilder builder("layers");
  for (int v = 0; v < 2 * count; ++v) {
    builder.add(support::unit_op("layer" + std::to_string(v / 2) + (v % 2 ? ".add" : ".dense"), 1e9, 1000));
    if (v > 0) builder.add_edge(OpId(static_cast<std::size_t>(v - 1)), OpId(static_cast<std::size_t>(v)));
  }
  return builder.build();
}

struct CollectiveCase {
  graph::OpGraph graph;
  cluster::Cluster cluster;
  const cost::CostModel& costs;
  plan::Plan plan;
  sim::SimulationOptions options{};

  cost::Problem problem() const { return {graph, cluster, costs, plan.training}; }
  trace::Trace run(PassCollectives collectives) {
    score::derive_in_flight(problem(), plan);
    options.pass_collectives = collectives;
    const auto scheduled = score::scheduled(problem(), plan);
    auto out = sim::simulate(problem(), scheduled, options);
    for (const auto& violation : check::trace_violations(problem(), scheduled, out, options))
      FAIL_CHECK(violation);
    return out;
  }
  double seconds(PassCollectives collectives) { return core::to_seconds(run(collectives).iteration).value(); }
};

/// All operators on four devices.
CollectiveCase on_four(graph::OpGraph graph, const cost::CostModel& costs, std::int64_t micro_batch) {
  const std::size_t size = graph.size();
  CollectiveCase out{std::move(graph), support::tiny_cluster(4), costs, {}};
  out.plan.training.mini_batch = 8;
  out.plan.stages = {stage_of(0, size, 4, micro_batch)};
  return out;
}

std::ptrdiff_t messages(const trace::Trace& trace) {
  return std::ranges::count(trace.spans, TaskKind::collective, &trace::Span::kind);
}

}  // namespace

TEST_CASE(
    "ZeRO 2 and 3 alone on their links take the closed form, whether layers hide what they move or not") {
  // Where the network is busy all the time, gradients still travel while the last layer computes. With ZeRO 3
  // its computing hides too, which the closed form does not count.
  for (const double forward : {1e-7, 1e-6, 3e-6, 1.0})
    for (const int zero : {2, 3})
      for (const auto recompute : {plan::Recomputation{}, plan::kRecomputeLayers, plan::kRecomputeStage}) {
        CAPTURE(forward);
        CAPTURE(zero);
        const auto costs = support::FixedCosts::uniform(10, forward, 2 * forward);
        CollectiveCase c = on_four(layers(5), costs, 4);
        c.plan.stages[0].zero = zero;
        c.plan.stages[0].recompute = recompute;
        const bool gathers_back = zero == 3 && !(recompute == plan::kRecomputeLayers);
        const double hidden = gathers_back && forward < 3e-6 ? 2 * 2 * 2 * forward : 0;  // two micro-batches
        CHECK(c.seconds(PassCollectives::links) ==
              support::near(c.seconds(PassCollectives::closed_form) - hidden, 1e-9));
      }
}

TEST_CASE("on a mesh of cables ZeRO gathers over disjoint rings, and takes their closed form") {
  const auto costs = support::FixedCosts::uniform(10, 1e-6, 2e-6);
  for (const int zero : {2, 3}) {
    CollectiveCase c = on_four(layers(5), costs, 4);
    c.plan.stages[0].zero = zero;
    const double on_switch = c.seconds(PassCollectives::links);
    c.cluster = support::cabled_cluster(4, support::every_cable(4, 1e9));
    const double seconds = c.seconds(PassCollectives::links);
    CHECK(seconds == support::near(c.seconds(PassCollectives::closed_form), 0.01));
    CHECK(seconds < on_switch);
  }
}

TEST_CASE("a layer's weights travel while the layer before computes") {
  const auto costs = support::FixedCosts::uniform(6, 1, 2);
  CollectiveCase c = on_four(layers(3), costs, 8);
  c.plan.stages[0].zero = 3;
  const cost::PassPieces pieces(c.problem(), c.plan.stages[0]);
  const auto forward = pieces.of(cost::PassPieces::Pass::forward, c.plan.stages[0].operators);
  // A piece that waits for the first layer's weights, and three layers: the second one's weights begin when
  // the first layer does.
  REQUIRE(forward.size() == 4);
  CHECK(forward[0].operators.empty());
  CHECK(forward[1].ahead == 0);
  CHECK(forward[2].ahead == 0);
  CHECK(forward[3].ahead == 1);
  CHECK(forward[3].weights.front().bytes == core::Bytes(8000));
  // Four devices send a layer in 3 rounds of 4 messages: three times forward, and both ways backward.
  CHECK(messages(c.run(PassCollectives::links)) == 3 * 3 * 12);
}

TEST_CASE("experts' rows without other users of the links take the closed form") {
  const FlopCosts costs;
  for (const int experts : {2, 4})
    for (const int tensor : {1, 2}) {
      CollectiveCase c = on_four(small_mixture("2"), costs, 4);
      c.plan.stages[0].tensor_parallel = tensor;
      c.plan.stages[0].expert_parallel = experts / tensor;
      CHECK(c.seconds(PassCollectives::links) ==
            support::near(c.seconds(PassCollectives::closed_form), 1e-9));
    }
}

TEST_CASE("attention's exchanges without other users of the links take the closed form") {
  const FlopCosts costs;
  for (const auto exchange :
       {plan::ContextExchange::all_gather, plan::ContextExchange::ulysses, plan::ContextExchange::ring})
    for (const int context : {2, 4}) {
      CollectiveCase c = on_four(small_mixture("2"), costs, 4);
      c.plan.stages[0].context_parallel = context;
      c.plan.stages[0].context_exchange = exchange;
      CHECK(c.seconds(PassCollectives::links) ==
            support::near(c.seconds(PassCollectives::closed_form), 1e-9));
      CHECK((messages(c.run(PassCollectives::links)) > 0) == (exchange != plan::ContextExchange::ring));
    }
}

TEST_CASE("rows on their way to experts slow messages between stages, and these them") {
  // Two stages of two devices each, all on one switch: what a stage sends on shares its cables with rows.
  const FlopCosts costs;
  graph::OpGraph graph = small_mixture("2");
  const std::size_t half = graph.size() / 2, all = graph.size();
  CollectiveCase c{std::move(graph), support::tiny_cluster(4, std::int64_t{1} << 40, 1e6), costs, {}};
  c.plan.training.mini_batch = 16;
  c.plan.stages = {stage_of(0, half, 2, 2), stage_of(half, all, 0, 2)};
  c.plan.stages[1].devices = {core::DeviceId(2), core::DeviceId(3)};
  for (plan::Stage& stage : c.plan.stages) stage.expert_parallel = 2;
  CHECK(c.seconds(PassCollectives::links) > c.seconds(PassCollectives::closed_form) * 1.001);
}

TEST_CASE("the verifier misses rows that are not sent") {
  const FlopCosts costs;
  CollectiveCase c = on_four(small_mixture("2"), costs, 4);
  c.plan.stages[0].expert_parallel = 4;
  auto trace = c.run(PassCollectives::links);
  trace.spans.erase(std::ranges::find(trace.spans, TaskKind::collective, &trace::Span::kind));
  const auto found =
      check::trace_violations(c.problem(), score::scheduled(c.problem(), c.plan), trace, c.options);
  CHECK(std::ranges::any_of(found, [](const auto& v) { return v.find("are due") != std::string::npos; }));
}
