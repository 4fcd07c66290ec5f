// accpar against every choice of partition types, against a fine grid of shares, and in a sum by hand.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "models/catalogue.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/validate.hpp"
#include "planners/tensor/partition_types.hpp"
#include "planners/tensor/shares.hpp"
#include "support/checkout.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/random_problem.hpp"

using namespace penstock;
using core::OpId;
using plan::Partition;

namespace {

const cost::AnalyticCosts kCosts;

planners::SearchResult planned(const cost::Problem& problem, planners::SearchOptions options = {}) {
  auto found = planners::planner("accpar").plan(problem, options, {});
  const auto violations = score::violations(problem, found.plan);
  CHECK_MESSAGE(violations.empty(), (violations.empty() ? "" : violations.front()));
  return found;
}

plan::Stage stage_of(const cost::Problem& problem, int group, std::int64_t micro_batch) {
  plan::Stage out;
  for (std::size_t v = 0; v < problem.graph.size(); ++v) out.operators.emplace_back(v);
  for (std::size_t d = 0; d < problem.cluster.size(); ++d) out.devices.emplace_back(d);
  out.tensor_parallel = group;
  out.micro_batch = micro_batch;
  return out;
}

/// The least time over 4^n assignments of types.
double least_of_all(const cost::Problem& problem, plan::Stage stage) {
  double best = std::numeric_limits<double>::infinity();
  const std::size_t size = problem.graph.size();
  for (std::size_t code = 0; code < std::size_t{1} << (2 * size); ++code) {
    for (std::size_t v = 0; v < size; ++v)
      stage.partition[OpId(v)] = static_cast<Partition>(code >> (2 * v) & 3);
    best = std::min(best, planners::lone_stage_seconds(problem, stage));
  }
  return best;
}

/// Returns the graph with random kinds of operators that mix features, pass them on, or attend.
graph::OpGraph with_kinds(const graph::OpGraph& graph, core::Random& random) {
  using graph::OpKind;
  graph::GraphBuilder builder(graph.name());
  for (graph::Operator op : graph.operators()) {
    if (op.kind != OpKind::input) {
      const OpKind kinds[] = {OpKind::linear, OpKind::activation, OpKind::attention, OpKind::profiled,
                              OpKind::norm};
      op.kind = kinds[random.between(0, 4)];
    }
    builder.add(op);
  }
  for (const auto& [from, to] : graph.dag().edges())
    builder.add_edge(OpId(static_cast<std::size_t>(from)), OpId(static_cast<std::size_t>(to)));
  return builder.build();
}

/// Devices of two types on one switch, in turn; `memory` bytes each.
cluster::Cluster two_types(std::size_t devices, double bandwidth,
                           std::int64_t memory = std::int64_t{1} << 40) {
  const auto alike = support::tiny_cluster(devices, memory, bandwidth);
  auto types = alike.types();
  types.push_back(types.front());
  types.back().name = "other";
  std::vector<cluster::Device> mixed = alike.devices();
  for (std::size_t d = 1; d < devices; d += 2) mixed[d].type = 1;
  return cluster::Cluster("two types", types, mixed, 1, alike.links());
}

/// Seconds per sample and pass, by operator and type of device.
class SpeedCosts final : public cost::CostModel {
 public:
  SpeedCosts(std::vector<double> tiny, std::vector<double> other)
      : tiny_(std::move(tiny)), other_(std::move(other)) {}
  cost::OpTime op_time(const graph::OpGraph&, OpId id, const cluster::DeviceType& device,
                       std::int64_t samples) const override {
    const core::Seconds time((device.name == "other" ? other_ : tiny_)[id.index()] *
                             static_cast<double>(samples));
    return {time, time, time};
  }

 private:
  std::vector<double> tiny_, other_;
};

SpeedCosts random_speeds(core::Random& random, std::size_t operators) {
  std::vector<double> tiny, other;
  for (std::size_t v = 0; v < operators; ++v) {
    tiny.push_back(random.unit());
    other.push_back(tiny.back() * (0.2 + 1.6 * random.unit()));
  }
  return {tiny, other};
}

struct TypeTally {
  int problems = 0, divided = 0, with_branches = 0;
};

/// Partition types against all 4^n on equal devices.
TypeTally compare_with_all(std::uint64_t seeds) {
  TypeTally out;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    auto random = support::random_problem(seed);
    core::Random choose(seed);
    const int devices = choose.chance(0.5) ? 2 : 4;
    if (random.graph.size() > 5) continue;
    const auto graph = with_kinds(random.graph, choose);
    const auto cluster = support::tiny_cluster(static_cast<std::size_t>(devices), std::int64_t{1} << 40,
                                               std::pow(10.0, 2 + 3 * choose.unit()), choose.unit() / 50);
    const cost::Problem problem{graph, cluster, random.costs, {8, plan::Optimizer::momentum}};
    const int group = choose.chance(0.5) ? 2 : devices;
    const plan::Stage stage = stage_of(problem, group, choose.chance(0.5) ? 4 : 8);
    const planners::PartitionTypes types(problem);
    REQUIRE(types.exact());
    const auto found = types.best(stage, 0, {});
    const double best = least_of_all(problem, stage);
    CHECK(found.seconds == support::near(best, 1e-9));
    CHECK(found.bound == support::near(best, 1e-9));
    CHECK(found.seconds == planners::lone_stage_seconds(problem, found.stage));
    ++out.problems;
    out.divided += std::any_of(found.stage.partition.begin(), found.stage.partition.end(),
                               [](const auto& p) { return p.second >= Partition::column; });
    out.with_branches += graph.dag().edge_count() >= graph.size();
  }
  MESSAGE(out.problems << " problems, " << out.divided << " divided by features, " << out.with_branches
                       << " not trees");
  return out;
}

}  // namespace

TEST_CASE("partition types are the best of all 4^n on equal devices") {
  const TypeTally found = compare_with_all(150);
  CHECK(found.problems > 60);
  CHECK(found.divided > 15);
  CHECK(found.with_branches > 4);
}

TEST_CASE("partition types are the best of all for the slowest group, and for gradients as they are sent") {
  // Two groups of two; the cables of one are a hundred times as slow. Gradients are sent as a quarter.
  for (const std::size_t slow : {0, 2})
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      CAPTURE(slow);
      CAPTURE(seed);
      auto random = support::random_problem(seed);
      core::Random choose(seed);
      if (random.graph.size() > 4) continue;
      const auto graph = with_kinds(random.graph, choose);
      const auto plain = support::tiny_cluster(4, std::int64_t{1} << 40, 1e5);
      auto links = plain.links();
      for (cluster::Link& link : links)
        if (std::min(link.from, link.to) / 2 == slow / 2) link.bandwidth = core::Bandwidth(1e3);
      const cluster::Cluster cluster("uneven", plain.types(), plain.devices(), 1, links);
      plan::Training training{8, plan::Optimizer::momentum};
      training.compression.gradients = 0.25;
      const cost::Problem problem{graph, cluster, random.costs, training};
      const plan::Stage stage = stage_of(problem, 2, 8);
      CHECK(planners::PartitionTypes(problem).best(stage, 0, {}).bound ==
            support::near(least_of_all(problem, stage), 1e-9));
    }
}

TEST_CASE("partition types are the best of all 4^n on many problems" * doctest::test_suite("slow")) {
  const TypeTally found = compare_with_all(500);
  CHECK(found.problems > 200);
  CHECK(found.divided > 50);
  CHECK(found.with_branches > 15);
}

TEST_CASE("the dynamic programme is exact on every network of the zoo") {
  const auto cluster = support::tiny_cluster(2);
  for (const auto& info : models::catalogue()) {
    CAPTURE(info.name);
    const auto graph = models::build(info.name);
    CHECK(planners::PartitionTypes({graph, cluster, kCosts, {8, plan::Optimizer::sgd}}).exact());
  }
}

TEST_CASE(
    "where every tensor is read by all later operators some conversions are held, and a plan is found") {
  std::vector<std::pair<int, int>> edges;
  for (int a = 0; a < 24; ++a)
    for (int b = a + 1; b < 24; ++b) edges.emplace_back(a, b);
  const auto graph = support::tiny_graph(24, edges);
  const auto cluster = support::tiny_cluster(2, std::int64_t{1} << 40, 1e6);
  const auto costs = support::FixedCosts::uniform(24, 1, 2);
  const cost::Problem problem{graph, cluster, costs, {8, plan::Optimizer::sgd}};
  const planners::PartitionTypes types(problem);
  CHECK_FALSE(types.exact());
  // By samples there are no messages: 24 operators x 4 samples x 3 s.
  CHECK(types.best(stage_of(problem, 2, 8), 0, {}).seconds >= 288);
  CHECK(planned(problem).estimate.value().value() == support::near(288));
}

namespace {

/// Returns how many problems on two types of devices were tried.
int check_bounds(std::uint64_t seeds) {
  int compared = 0, equal = 0;
  double worst = 1;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    auto random = support::random_problem(seed);
    if (random.graph.size() > 5) continue;
    core::Random choose(seed);
    const auto graph = with_kinds(random.graph, choose);
    const auto cluster = two_types(2, std::pow(10.0, 2 + 3 * choose.unit()));
    const SpeedCosts costs = random_speeds(choose, graph.size());
    const cost::Problem problem{graph, cluster, costs, {8, plan::Optimizer::momentum}};
    plan::Stage stage = stage_of(problem, 2, 8);
    stage.shares = {choose.between(1, 4), choose.between(1, 4)};
    const auto found = planners::PartitionTypes(problem).best(stage, 0, {});
    const double best = least_of_all(problem, stage);
    CHECK(found.bound <= best * (1 + 1e-9));
    CHECK(found.seconds >= best * (1 - 1e-9));
    ++compared;
    equal += found.seconds <= best * (1 + 1e-9);
    worst = std::max(worst, found.seconds / best);
  }
  MESSAGE(equal << " of " << compared << " equal, the worst " << worst << " times the least");
  CHECK(equal * 10 >= compared * 9);
  CHECK(worst < 1.2);
  return compared;
}

}  // namespace

TEST_CASE("on two types of devices the least of all lies between the bound and what is found") {
  CHECK(check_bounds(100) > 30);
}

TEST_CASE("on two types of devices bounds hold on many problems" * doctest::test_suite("slow")) {
  CHECK(check_bounds(300) > 100);
}

TEST_CASE(
    "by hand: many samples and few weights are divided by samples, few samples and many weights by "
    "features") {
  // Two devices, cables of 1 GB/s, 8 samples of 1 kB per tensor. a -> b, matrices of 3 s per sample: divided
  // 24 s. By samples: gradients of 2 x 4 x n bytes are reduced, a ring of two: 8 n bytes at 1 GB/s, 8 n ns;
  // nothing else. a by outputs, b by inputs: b's partial sums, 8 kB, 8 us; a reads nothing that needs a
  // gradient. So n = 1000 weights each are worth the change.
  const auto types_of = [](std::int64_t weights) {
    graph::GraphBuilder builder("two");
    for (const char* name : {"a", "b"}) {
      auto op = support::unit_op(name, 0, weights);
      op.kind = graph::OpKind::linear;
      builder.add(op);
    }
    builder.add_edge(OpId(0), OpId(1));
    const auto graph = builder.build();
    const auto costs = support::FixedCosts::uniform(2, 1, 2);
    const auto cluster = support::tiny_cluster(2);
    const cost::Problem problem{graph, cluster, costs, {8, plan::Optimizer::sgd}};
    auto found = planners::PartitionTypes(problem).best(stage_of(problem, 2, 8), 0, {});
    const double told = static_cast<double>(std::min<std::int64_t>(8 * weights, 8000));
    CHECK((found.seconds - 24) * 1e9 == support::near(told, 1e-3));
    return std::pair(found.stage.partition.at(OpId(0)), found.stage.partition.at(OpId(1)));
  };
  CHECK(types_of(990) == std::pair(Partition::batch, Partition::batch));
  CHECK(types_of(1010) == std::pair(Partition::column, Partition::row));
}

namespace {

/// Shares of two types against a fine grid of ratios; returns how often they are uneven.
int check_shares(std::uint64_t seeds) {
  int uneven = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    auto random = support::random_problem(seed);
    core::Random choose(seed);
    const auto graph = with_kinds(random.graph, choose);
    const auto cluster = two_types(4, 1e6);
    const SpeedCosts costs = random_speeds(choose, graph.size());
    const cost::Problem problem{graph, cluster, costs, {256, plan::Optimizer::sgd}};
    plan::Stage stage = stage_of(problem, 4, 256);
    stage.shares = planners::even_load(problem, stage);
    REQUIRE(stage.shares.size() == 4);
    stage = planners::PartitionTypes(problem).best(stage, 0, {}).stage;
    stage.shares = planners::best_shares(problem, stage, {});
    const double ours = planners::lone_stage_seconds(problem, stage);
    uneven += stage.shares[0] != stage.shares[1];
    double best = ours;
    for (std::int64_t part = 5; part <= 995; ++part) {
      stage.shares = {part, 1000 - part, part, 1000 - part};
      best = std::min(best, planners::lone_stage_seconds(problem, stage));
    }
    CHECK(ours <= best * 1.005);
  }
  return uneven;
}

}  // namespace

TEST_CASE("shares of two types: no ratio of a fine grid is faster by more than half a percent") {
  CHECK(check_shares(12) > 8);
}

TEST_CASE("shares of two types: nor on many problems" * doctest::test_suite("slow")) {
  CHECK(check_shares(40) > 30);
}

TEST_CASE("a device that is three times as fast takes three quarters") {
  const auto graph = support::tiny_graph(1, {});
  const auto cluster = two_types(2, 1e9);
  const SpeedCosts costs({1}, {3});
  const cost::Problem problem{graph, cluster, costs, {64, plan::Optimizer::sgd}};
  const auto found = planned(problem);
  REQUIRE(found.plan.stages.front().shares.size() == 2);
  // 48 samples x 3 passes x 1 s = 16 samples x 3 passes x 3 s.
  CHECK(found.estimate.value().value() == support::near(144, 0.005));
}

TEST_CASE("three devices make one group though three is no power of two") {
  const auto graph = support::tiny_graph(2, {{0, 1}});
  const auto cluster = support::tiny_cluster(3);
  const auto costs = support::FixedCosts::uniform(2, 1, 2);
  const auto found =
      planned({graph, cluster, costs, {2, plan::Optimizer::sgd}});  // too few samples for three replicas
  CHECK(found.plan.stages.front().tensor_parallel == 3);
}

TEST_CASE("the plan's estimate is the formula's, and no worse than data parallelism's") {
  int plans = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    const cost::Problem problem = random.problem();
    try {
      const auto found = planned(problem);
      ++plans;
      CHECK(found.plan.stages.size() == 1);
      CHECK(found.estimate.value().value() ==
            planners::lone_stage_seconds(problem, found.plan.stages.front()));
      const auto even = planners::planner("data_parallel").plan(problem, {}, {}).plan.stages.front();
      if (even.zero == 0)
        CHECK(found.estimate.value().value() <= planners::lone_stage_seconds(problem, even));
    } catch (const core::Infeasible& e) {
      CHECK(std::string(e.what()).find("no ") == 0);
    }
  }
  CHECK(plans > 75);
}

TEST_CASE("where memory is short weights are divided, though that takes longer") {
  // Numbers like those above, with 990 weights. By samples each device holds 2 x 3960 bytes of weights; with
  // gradients and Adam's state four times as much, 31,680. It also keeps and works on two tensors of 4
  // samples, and on one gradient: 51,640. By columns, then rows, it has half the weights, 15,840. It keeps a
  // half and a whole tensor of 8 samples, and works on as much and half a gradient: 41,820. Both by columns
  // would keep two halves, and the first one gathered: 43,840.
  graph::GraphBuilder builder("two");
  for (const char* name : {"a", "b"}) {
    auto op = support::unit_op(name, 0, 990);
    op.kind = graph::OpKind::linear;
    builder.add(op);
  }
  builder.add_edge(OpId(0), OpId(1));
  const auto graph = builder.build();
  const auto costs = support::FixedCosts::uniform(2, 1, 2);
  planners::SearchOptions pinned;
  pinned.pipeline_micro_batch = 8;
  const auto stage_in = [&](std::int64_t memory) {
    const auto cluster = support::tiny_cluster(2, memory);
    return planned({graph, cluster, costs, {8, plan::Optimizer::adam}}, pinned).plan.stages.front();
  };
  CHECK(stage_in(51640).tensor_parallel == 1);  // replicas: the same as one group divided by samples
  CHECK(stage_in(51639).tensor_parallel == 2);
  CHECK(stage_in(41820).partition.at(OpId(0)) == Partition::column);
  CHECK(stage_in(41820).partition.at(OpId(1)) == Partition::row);
  CHECK_THROWS_AS(stage_in(41819), core::Infeasible);
}

namespace {

/// The least time over all group sizes and 4^n types that fit; nothing where none does.
std::optional<double> least_that_fits(const cost::Problem& problem, std::int64_t micro_batch) {
  std::optional<double> best;
  for (int group = 1; group <= static_cast<int>(problem.cluster.size()); group *= 2) {
    plan::Plan plan;
    plan.training = problem.training;
    plan.stages = {stage_of(problem, group, micro_batch)};
    plan.stages[0].in_flight = micro_batch;
    const std::size_t codes = group == 1 ? 1 : std::size_t{1} << (2 * problem.graph.size());
    for (std::size_t code = 0; code < codes; ++code) {
      for (std::size_t v = 0; v < problem.graph.size() && group > 1; ++v)
        plan.stages[0].partition[OpId(v)] = static_cast<Partition>(code >> (2 * v) & 3);
      CHECK(score::fits_memory(problem, plan) == score::memory_violations(problem, plan).empty());
      if (!score::fits_memory(problem, plan)) continue;
      const double seconds = planners::lone_stage_seconds(problem, plan.stages[0]);
      best = std::min(best.value_or(seconds), seconds);
    }
  }
  return best;
}

}  // namespace

namespace {

/// Returns how many problems with little memory have a plan.
int check_price(std::uint64_t seeds) {
  int compared = 0, equal = 0, missed = 0;
  double worst = 1;
  planners::SearchOptions pinned;
  pinned.pipeline_micro_batch = 4;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    if (random.graph.size() > 4) continue;
    core::Random choose(seed);
    const auto graph = with_kinds(random.graph, choose);
    const auto cluster =
        support::tiny_cluster(2, choose.between(8000, 24000), std::pow(10.0, 3 + 2 * choose.unit()));
    const cost::Problem problem{graph, cluster, random.costs, {8, plan::Optimizer::momentum}};
    const auto best = least_that_fits(problem, 4);
    if (!best) {
      CHECK_THROWS_AS(planners::planner("accpar").plan(problem, pinned, {}), core::Infeasible);
      continue;
    }
    ++compared;
    try {
      const double ours = planned(problem, pinned).estimate.value().value();
      CHECK(ours >= *best * (1 - 1e-9));
      equal += ours <= *best * (1 + 1e-9);
      worst = std::max(worst, ours / *best);
    } catch (const core::Infeasible&) {
      ++missed;
    }
  }
  MESSAGE(equal << " of " << compared << " equal, " << missed << " not found, the worst " << worst
                << " times the least");
  CHECK(equal * 10 >= compared * 8);
  CHECK(missed * 10 <= compared);
  return compared;
}

}  // namespace

TEST_CASE("a price on memory: never faster than the best that fits, and mostly as fast") {
  CHECK(check_price(150) > 25);
}

TEST_CASE("a price on memory on many problems" * doctest::test_suite("slow")) {
  CHECK(check_price(400) > 80);
}

TEST_CASE("on a mixed cluster groups have the same types of devices, and V100s take more than P100s") {
  const auto graph = models::build("gpt", {{"layers", "1"}});
  const auto cluster = cluster::load_cluster(support::checkout("/experiments/clusters/mixed.yaml"));
  const cost::Problem problem{graph, cluster, kCosts, {64, plan::Optimizer::adam}};
  const plan::Stage stage = planned(problem).plan.stages.front();
  REQUIRE_FALSE(stage.shares.empty());
  for (std::size_t d = 0; d < stage.devices.size(); ++d) {
    const std::size_t member = d % stage.shares.size();
    const bool fast = stage.devices[d].index() < 4;
    CHECK(fast == (stage.devices[member].index() < 4));
    CHECK((stage.shares[member] == *std::max_element(stage.shares.begin(), stage.shares.end())) == fast);
  }
}

TEST_CASE("the simulated time equals the planner's estimate") {
  for (const char* cluster_name : {"summit", "mixed"})
    for (const char* model : {"candle_uno", "dlrm"}) {
      CAPTURE(cluster_name);
      CAPTURE(model);
      const char* narrow = model == std::string("dlrm") ? "branches" : "towers";
      const auto cluster =
          cluster::load_cluster(support::checkout("/experiments/clusters/") + cluster_name + ".yaml")
              .first(8);
      const auto graph = models::build(model, {{narrow, "2"}});
      const cost::Problem problem{graph, cluster, kCosts, {128, plan::Optimizer::adam}};
      const auto found = planned(problem);
      const double simulated = experiment::simulated_time(problem, {})(found.plan).value();
      CHECK(std::abs(found.estimate.value().value() / simulated - 1) < 1e-9);
    }
}

TEST_CASE("even load: shares as fast as devices are, none where groups differ or devices do not") {
  // Two devices of 1 TFLOP/s and two of 2.
  auto types = support::tiny_cluster(1).types();
  types.push_back(types[0]);
  types[1].name = "fast";
  types[1].peak[0] = types[0].peak[0] * 2;
  std::vector<cluster::Link> links;
  for (std::size_t d = 0; d < 4; ++d) {
    links.push_back({d, 4, core::Bandwidth(1e9), core::Seconds(0)});
    links.push_back({4, d, core::Bandwidth(1e9), core::Seconds(0)});
  }
  const cluster::Cluster c("mixed", types, {{0, 0}, {1, 0}, {0, 0}, {1, 0}}, 1, links);
  const auto g = support::tiny_graph(1, {}, {1e15});  // so much work that launches and bytes do not count
  const cost::AnalyticCosts costs;
  const cost::Problem problem{g, c, costs, {8}};
  const auto shares = [&](const std::vector<std::size_t>& devices) {
    plan::Stage stage;
    stage.operators = {core::OpId(0)};
    for (const std::size_t d : devices) stage.devices.emplace_back(d);
    stage.micro_batch = 8;
    stage.tensor_parallel = 2;
    return planners::even_load(problem, stage);
  };
  CHECK(shares({0, 1}) == std::vector<std::int64_t>{2048, 4096});
  CHECK(shares({1, 0, 3, 2}) == std::vector<std::int64_t>{4096, 2048});
  CHECK(shares({0, 1, 3, 2}).empty());  // slow and fast, then fast and slow
  CHECK(shares({0, 2}).empty());
}
