#include "penstock/cost/context.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/graph/attention_core.hpp"
#include "src/cost/group_collectives.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::OpId;
using core::Seconds;
using plan::ContextExchange;

namespace {

/// One layer of 16 tokens, 32 wide.
graph::OpGraph small_gpt() {
  return models::build("gpt", {{"layers", "1"},
                               {"hidden", "32"},
                               {"heads", "4"},
                               {"sequence", "16"},
                               {"vocabulary", "64"},
                               {"attention", "flash"}});
}

plan::Stage stage_of(const graph::OpGraph& graph, int devices, int context, int tensor = 1) {
  plan::Stage out;
  for (std::size_t v = 0; v < graph.size(); ++v) out.operators.emplace_back(v);
  for (int d = 0; d < devices; ++d) out.devices.emplace_back(static_cast<std::size_t>(d));
  out.context_parallel = context;
  out.tensor_parallel = tensor;
  return out;
}

constexpr double kGigabyte = 1e9;  // B/s, of the tiny cluster's cables
/// Keys and values of all tokens, in fp32.
constexpr double kKeysValues = 2 * 16 * 32 * 4;

}  // namespace

TEST_CASE("activations fall by the number of groups, weights stay") {
  const auto g = small_gpt();
  const auto cluster = support::tiny_cluster(8);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{g, cluster, costs, {8}};
  const auto whole = cost::stage_load(problem, stage_of(g, 1, 1));
  for (const int c : {2, 4}) {
    const auto part = cost::stage_load(problem, stage_of(g, c, c));
    CHECK(part.activations * c == whole.activations);
    CHECK(part.parameters == whole.parameters);
    CHECK(part.largest == whole.largest);
  }
  // Groups of two devices that divide what groups of tokens have left.
  const auto both = cost::stage_load(problem, stage_of(g, 4, 2, 2));
  const auto tensor = cost::stage_load(problem, stage_of(g, 2, 1, 2));
  CHECK(both.activations * 2 == tensor.activations);
  CHECK(both.parameters == tensor.parameters);
}

TEST_CASE("while attention runs backward the others' keys and values are there") {
  const auto g = small_gpt();
  for (std::size_t v = 0; v < g.size(); ++v) {
    if (g.op(OpId(v)).kind != graph::OpKind::attention) continue;
    const auto local = layout::local_graph(g, 4);
    const cost::AnalyticCosts costs;
    const auto scratch = costs.scratch(local, OpId(v));
    // The context's gradient of 4 tokens, 32 wide, and 12 of 16 tokens' keys and values.
    CHECK(scratch.input_gradient.each == Bytes((4 * 32 + 2 * 12 * 32) * 4));
    // Handed on: gradients of 4 tokens' queries, and of all keys and values.
    CHECK(scratch.handed.each == Bytes((4 * 32 + 2 * 16 * 32) * 4));
  }
}

TEST_CASE("gathered keys and values: (c - 1) / c of them over the slowest cable, once forward, twice back") {
  const auto g = small_gpt();
  const auto cluster = support::tiny_cluster(4);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{g, cluster, costs, {8}};
  for (const int c : {2, 4}) {
    auto s = stage_of(g, c, c);
    s.context_exchange = ContextExchange::all_gather;
    const auto time = cost::stage_time(problem, s, 3);
    const double once = 3 * kKeysValues * (c - 1) / c / kGigabyte;
    CHECK(time.collectives.forward.value() == support::near(once));
    CHECK(time.collectives.input_gradient.value() == support::near(2 * once));
    CHECK(time.collectives.weight_gradient == Seconds(0));
  }
}

TEST_CASE("Ulysses trades queries, keys, values and output: each device keeps one part of its part") {
  const auto g = small_gpt();
  const auto cluster = support::tiny_cluster(4);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{g, cluster, costs, {8}};
  auto s = stage_of(g, 4, 4);
  s.context_exchange = ContextExchange::ulysses;
  const auto time = cost::stage_time(problem, s, 3);
  // Four tensors of 16 x 32 numbers; three of four quarters of a quarter leave each device.
  const double once = 3 * 2 * kKeysValues * 3 / 16 / kGigabyte;
  CHECK(time.collectives.forward.value() == support::near(once));
  CHECK(time.collectives.input_gradient.value() == support::near(once));
}

TEST_CASE("a ring hides hops behind the core of the block before, except the last one back") {
  const auto cluster = support::tiny_cluster(4);
  plan::Stage s;
  for (std::size_t d = 0; d < 4; ++d) s.devices.emplace_back(d);
  s.context_parallel = 4;
  const cost::RingTimes ring(cluster, s);
  const Bytes keys_values(4000);  // blocks of 1 kB: hops of 1 us
  // The core takes 2 us a block. Three hops of 1 us are hidden, and three hops of 2 us on the way back are
  // hidden exactly. A block of gradients goes home.
  const auto hidden = ring.time(keys_values, Seconds(8e-6), Seconds(8e-6), Seconds(0));
  CHECK(hidden.forward.value() == support::near(0));
  CHECK(hidden.input_gradient.value() == support::near(1e-6));
  // It takes 0.25 us: three hops stick out by 0.75 us; going back, with gradients along, by 1.75 us.
  const auto exposed = ring.time(keys_values, Seconds(1e-6), Seconds(1e-6), Seconds(0));
  CHECK(exposed.forward.value() == support::near(3 * 0.75e-6));
  CHECK(exposed.input_gradient.value() == support::near(3 * 1.75e-6 + 1e-6));
  // A host that takes 3 us to launch each.
  const auto slow = ring.time(keys_values, Seconds(1e-6), Seconds(1e-6), Seconds(3e-6));
  CHECK(slow.forward.value() == support::near(3 * 2.75e-6));
}

TEST_CASE("one group is no group: times and memory as without, whatever the exchange") {
  const auto g = small_gpt();
  const auto cluster = support::tiny_cluster(4);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{g, cluster, costs, {8}};
  for (const int tensor : {1, 2}) {
    const auto plain = stage_of(g, 4, 1, tensor);
    auto other = plain;
    other.context_exchange = ContextExchange::ulysses;
    CHECK(cost::stage_time(problem, plain, 3).total().total() ==
          cost::stage_time(problem, other, 3).total().total());
    CHECK(cost::stage_time(problem, stage_of(g, tensor, 1, tensor), 3).total().total() ==
          cost::stage_time(problem, plain, 3).total().total());
  }
}

TEST_CASE(
    "gradients are summed over replicas and context groups, and ZeRO's state is shared by all of them") {
  const auto g = small_gpt();
  const auto cluster = support::tiny_cluster(8);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{g, cluster, costs, {8}};
  auto s = stage_of(g, 8, 2, 2);  // two replicas
  const auto sums = cost::reductions(problem, s, s.operators);
  REQUIRE(sums.size() == 1);
  CHECK(sums.front().groups.size() == 2);
  CHECK(sums.front().groups.front().size() == 4);  // devices 0, 2, 4 and 6
  CHECK(sums.front().groups.front()[1] == core::DeviceId(2));
  s.zero = 1;
  CHECK(plan::replica_placement(s).shards == 4);
  const auto& type = cluster.type(core::DeviceId(0));
  auto four = stage_of(g, 8, 1, 2);
  four.zero = 1;
  CHECK(cost::step_time(problem, s, 0, type) == cost::step_time(problem, four, 0, type));
  // Without replicas two context groups still sum up what their tokens give.
  const auto alone = stage_of(g, 2, 2);
  CHECK(plan::reduces_gradients(alone));
  CHECK(cost::reductions(problem, alone, alone.operators).front().groups.front().size() == 2);
}

namespace {

OpId attention_in(const graph::OpGraph& graph) {
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(OpId(v)).kind == graph::OpKind::attention) return OpId(v);
  FAIL("no attention");
  return OpId(0);
}

/// Seconds of only ring attention's hops.
cost::OpTime hops(const cost::Problem& problem, const plan::Stage& stage, std::int64_t samples) {
  return cost::ReplicaTimes(problem, stage, cost::OperatorSets{stage.operators},
                            cost::ReplicaTimes::Waits::ring)
      .time(0, samples)
      .collectives;
}

}  // namespace

TEST_CASE("a stage's hops hide behind the core's share of its attention, twice as long going back") {
  const auto g = small_gpt();
  const auto cluster = support::tiny_cluster(4);
  const OpId attention = attention_in(g);
  std::vector<double> forward(g.size()), backward(g.size());
  const auto local = layout::local_graph(g, 2);
  const double share = graph::core_share(local.op(attention));
  forward[attention.index()] = 4e-6 / share / 3;  // the core takes 4 us for three samples, 2 us a block
  const support::FixedCosts costs(forward, backward);
  const cost::Problem problem{g, cluster, costs, {8}};
  const auto time = hops(problem, stage_of(g, 2, 2), 3);
  const double hop = 3 * kKeysValues / 2 / kGigabyte;  // 6.1 us
  CHECK(time.forward.value() == support::near(hop - 2e-6));
  CHECK(time.input_gradient.value() == support::near(2 * hop - 4e-6 + hop));
  CHECK(time.recompute.value() == 0);
  // Layers, or cores, that are computed again go round again.
  for (const auto again : {plan::kRecomputeLayers, plan::kRecomputeCore}) {
    auto s = stage_of(g, 2, 2);
    s.recompute = again;
    CHECK(hops(problem, s, 3).recompute.value() == support::near(hop - 2e-6));
  }
}

TEST_CASE("a tensor-parallel member's hops carry its part of keys and values") {
  const auto g = small_gpt();
  const auto cluster = support::tiny_cluster(4);
  const support::FixedCosts costs(std::vector<double>(g.size()), std::vector<double>(g.size()));
  const cost::Problem problem{g, cluster, costs, {8}};
  const double hop = 3 * kKeysValues / 2 / kGigabyte;
  CHECK(hops(problem, stage_of(g, 2, 2), 3).forward.value() == support::near(hop));
  CHECK(hops(problem, stage_of(g, 4, 2, 2), 3).forward.value() == support::near(hop / 2));
  // Gathered ones are halved too: half of the bytes for each of two.
  auto gathered = stage_of(g, 4, 2, 2);
  gathered.context_exchange = ContextExchange::all_gather;
  const cost::LocalProblem local(problem, gathered);
  const auto bytes = [&](plan::Partition how) {
    std::map<OpId, plan::Partition> ways;
    ways[attention_in(g)] = how;
    Bytes most;
    for (const auto& c : cost::group_collectives(problem, local.get(), gathered, ways).forward)
      if (c.among == layout::Among::context) most = std::max(most, c.bytes);
    return most;
  };
  CHECK(bytes(plan::Partition::whole) == Bytes(static_cast<std::int64_t>(kKeysValues)));
  CHECK(bytes(plan::Partition::column) == Bytes(static_cast<std::int64_t>(kKeysValues) / 2));
}

TEST_CASE("a core that is computed again takes its forward time, at the pace of a slowed device") {
  const auto g = small_gpt();
  const OpId attention = attention_in(g);
  const support::FixedCosts costs(std::vector<double>(g.size(), 1e-3), std::vector<double>(g.size(), 2e-3));
  const double core = 3e-3 * graph::core_share(g.op(attention));
  REQUIRE(core > 0);
  for (const double slowed : {1.0, 1.5}) {
    const auto cluster = support::tiny_cluster(1).slowed_by(slowed);
    const cost::Problem problem{g, cluster, costs, {8}};
    auto s = stage_of(g, 1, 1);
    s.recompute = plan::kRecomputeCore;
    CHECK(cost::stage_time(problem, s, 3).compute.recompute.value() == support::near(core * slowed));
    s.recompute = {};
    CHECK(cost::stage_time(problem, s, 3).compute.recompute.value() == 0);
  }
}

TEST_CASE("a layer that is computed again sums its outputs again; the slowest group of a replica counts") {
  const auto g = small_gpt();
  const support::FixedCosts costs(std::vector<double>(g.size()), std::vector<double>(g.size()));
  // Devices 0 and 1 have cables of a tenth of the others' bandwidth.
  std::vector<cluster::Link> links;
  for (std::size_t d = 0; d < 4; ++d) {
    links.push_back({d, 4, core::Bandwidth(d < 2 ? 1e8 : 1e9), Seconds(0)});
    links.push_back({4, d, core::Bandwidth(d < 2 ? 1e8 : 1e9), Seconds(0)});
  }
  const cluster::Cluster uneven("uneven", support::tiny_cluster(1).types(), std::vector<cluster::Device>(4),
                                1, links);
  const auto cluster = support::tiny_cluster(4);
  auto s = stage_of(g, 2, 1, 2);
  s.recompute = plan::kRecomputeLayers;
  const auto time = cost::stage_time({g, cluster, costs, {8}}, s, 3);
  // Attention and feed-forward each sum 16 x 32 fp32 numbers of three samples over a ring of two.
  CHECK(time.collectives.recompute.value() == support::near(2 * 3 * 16 * 32 * 4 / kGigabyte));
  // One replica of two context groups, whose pairs are fast and slow: in either order as long as the slow
  // one.
  auto both = stage_of(g, 4, 2, 2);
  both.context_exchange = ContextExchange::all_gather;
  auto turned = both;
  std::ranges::rotate(turned.devices, turned.devices.begin() + 2);
  const cost::Problem problem{g, uneven, costs, {8}};
  CHECK(cost::stage_time(problem, both, 3).collectives.forward.value() ==
        support::near(cost::stage_time(problem, turned, 3).collectives.forward.value()));
}
