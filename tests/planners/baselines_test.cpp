// single_device, data_parallel, gpipe_equal, gpipe_memory and megatron against sums by hand and brute force.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <map>
#include <mutex>
#include <variant>

#include "models/catalogue.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/plan/layer_row.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "planners/units.hpp"
#include "support/checkout.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/random_problem.hpp"

using namespace penstock;

namespace {

planners::SearchResult planned(const char* planner, const cost::Problem& problem,
                               planners::SearchOptions options = {}) {
  auto found = planners::planner(planner).plan(problem, options, {});
  const auto violations = score::violations(problem, found.plan);
  CHECK_MESSAGE(violations.empty(), (violations.empty() ? "" : violations.front()));
  return found;
}

template <class Error>
std::string message(const char* planner, const cost::Problem& problem, planners::SearchOptions options = {}) {
  try {
    planners::planner(planner).plan(problem, options, {});
  } catch (const Error& e) {
    return e.what();
  }
  return "a plan was found";
}

std::vector<std::size_t> stage_sizes(const plan::Plan& plan) {
  std::vector<std::size_t> out;
  for (const plan::Stage& stage : plan.stages) out.push_back(stage.operators.size());
  return out;
}

/// a -> b -> c -> d that take these seconds per sample, forward; twice that backward.
struct TimedChain {
  explicit TimedChain(std::vector<double> seconds, std::size_t devices,
                      std::int64_t memory = std::int64_t{1} << 40)
      : graph(support::tiny_graph(seconds.size(), edges(seconds.size()))),
        costs(seconds, twice(seconds)),
        cluster(support::tiny_cluster(devices, memory)) {}
  cost::Problem problem(std::int64_t mini_batch) const {
    return {graph, cluster, costs, {mini_batch, plan::Optimizer::sgd}};
  }
  static std::vector<std::pair<int, int>> edges(std::size_t size) {
    std::vector<std::pair<int, int>> out;
    for (int v = 0; v + 1 < static_cast<int>(size); ++v) out.emplace_back(v, v + 1);
    return out;
  }
  static std::vector<double> twice(std::vector<double> seconds) {
    for (double& s : seconds) s *= 2;
    return seconds;
  }
  graph::OpGraph graph;
  support::FixedCosts costs;
  cluster::Cluster cluster;
};

double estimate(const cost::Problem& problem, const plan::Plan& plan) {
  return score::estimate(problem, plan).iteration.value();
}

}  // namespace

TEST_CASE("single_device: one stage of all operators; on four devices it reports that it uses one") {
  const TimedChain one({1, 1, 1}, 1), four({1, 1, 1}, 4);
  const auto found = planned("single_device", one.problem(8));
  CHECK(stage_sizes(found.plan) == std::vector<std::size_t>{3});
  CHECK(found.bottleneck == support::near(9));  // seconds per sample, forward and backward
  CHECK(message<core::Infeasible>("single_device", four.problem(8)) ==
        "single_device uses one device and a plan all 4 of its cluster: give it one (devices: 1)");
}

TEST_CASE("data_parallel: all operators on all devices, with a sample for each at least") {
  const TimedChain chain({1, 1, 1}, 4);
  // Costs are linear, so all sizes take as long, and the smallest is first: 4 samples on 4 devices.
  CHECK(planned("data_parallel", chain.problem(16)).plan.stages[0].micro_batch == 4);
  CHECK(planned("data_parallel", chain.problem(16)).plan.stages[0].devices.size() == 4);
  CHECK(message<core::Infeasible>("data_parallel", chain.problem(2)) ==
        "no micro-batch that divides the mini-batch 2 has a sample for each of 4 replicas");
  // A sample keeps 3 kB and works on 2 kB: 5,000 bytes per device.
  CHECK(planned("data_parallel", TimedChain({1, 1, 1}, 4, 5000).problem(16)).plan.stages[0].micro_batch == 4);
  CHECK(
      message<core::Infeasible>("data_parallel", TimedChain({1, 1, 1}, 4, 4999).problem(16)) ==
      "no plan fits: even with the least memory stage 0 needs 4.88 KiB on each of devices 0 to 3, which have 4.88 KiB: "
      "1.00 B missing");
}

TEST_CASE("data_parallel shares optimizer state, gradients or weights only where nothing fits with less") {
  // Three operators of 1000 weights (4 kB) on four devices: weights, gradients and momentum take 36 kB,
  // activations 3 kB. Another 2 kB and one gradient of 4 kB are at work: 45 kB. ZeRO 1 leaves 3 kB of
  // momentum: 27 + 9 kB. ZeRO 2 leaves 3 kB of gradients: 18 + 9 kB. ZeRO 3 leaves 3 kB of weights, and works
  // on 8 kB that were gathered: 9 + 5 + 12.
  graph::GraphBuilder builder("weights");
  for (const char* name : {"a", "b", "c"}) builder.add(support::unit_op(name, 1e9, 1000));
  builder.add_edge(core::OpId(0), core::OpId(1));
  builder.add_edge(core::OpId(1), core::OpId(2));
  const auto graph = builder.build();
  const auto costs = support::FixedCosts::uniform(3, 1, 2);
  const auto zero = [&](std::int64_t memory) {
    const auto cluster = support::tiny_cluster(4, memory);
    return planned("data_parallel", {graph, cluster, costs, {8, plan::Optimizer::momentum}})
        .plan.stages[0]
        .zero;
  };
  CHECK(zero(45000) == 0);
  CHECK(zero(44999) == 1);
  CHECK(zero(36000) == 1);
  CHECK(zero(35999) == 2);
  CHECK(zero(27000) == 2);
  CHECK(zero(26999) == 3);
  CHECK(zero(26000) == 3);
  CHECK_THROWS_AS(zero(25999), core::Infeasible);
}

TEST_CASE("megatron keeps tensor parallelism within a node") {
  // Eight devices in nodes of four: of what fits, tensor parallelism of 8 would be the best if it counted.
  const auto cluster = cluster::load_cluster(support::checkout("/experiments/clusters/mixed.yaml"));
  const auto graph = support::tiny_graph(2, {{0, 1}});
  const auto costs = support::FixedCosts::uniform(2, 1, 2);
  planners::SearchOptions widest;
  widest.evaluate = [](const plan::Plan& p) { return core::Seconds(1.0 / p.stages.front().tensor_parallel); };
  const auto found = planned("megatron", {graph, cluster, costs, {8, plan::Optimizer::sgd}}, widest);
  CHECK(found.plan.stages.front().tensor_parallel == 4);
}

TEST_CASE(
    "gpipe_equal cuts 3 1 1 1 as 3 | 1 1 1 by time, gpipe_memory as 3 1 | 1 1 by bytes, all in flight") {
  const TimedChain chain({3, 1, 1, 1}, 2);
  const auto by_time = planned("gpipe_equal", chain.problem(8)).plan,
             by_bytes = planned("gpipe_memory", chain.problem(8)).plan;
  CHECK(stage_sizes(by_time) == std::vector<std::size_t>{1, 3});
  CHECK(stage_sizes(by_bytes) == std::vector<std::size_t>{2, 2});
  CHECK(by_time.schedule == "gpipe");
  CHECK(by_time.stages[0].in_flight == 8);
  CHECK_FALSE(by_time.stages[0].recompute);
  CHECK(message<core::Infeasible>("gpipe_equal", TimedChain({1, 1}, 3).problem(8)) ==
        "2 operators cannot make one stage for each of 3 devices");
}

TEST_CASE("gpipe_equal recomputes where nothing else fits") {
  // Four equal operators, two stages, one sample per micro-batch, 8 in flight. Stage 1 keeps 2 kB and what
  // enters, 1 kB, of all 8, works on 2 kB and receives 1 kB: 27,000. Recomputing it keeps 2 kB of one: 2 + 8
  // + 2 + 1 = 13,000 bytes. Stage 0, without what enters but with gradients of what leaves, takes 16 + 2 + 2
  // = 20,000 or 2 + 2 + 2 = 6,000.
  CHECK_FALSE(planned("gpipe_equal", TimedChain({1, 1, 1, 1}, 2, 27000).problem(8)).plan.stages[1].recompute);
  CHECK(planned("gpipe_equal", TimedChain({1, 1, 1, 1}, 2, 26999).problem(8)).plan.stages[1].recompute);
  CHECK(planned("gpipe_equal", TimedChain({1, 1, 1, 1}, 2, 13000).problem(8)).plan.stages[1].micro_batch ==
        1);
  CHECK(message<core::Infeasible>("gpipe_equal", TimedChain({1, 1, 1, 1}, 2, 12999).problem(8)) ==
        "no plan fits: even with the least memory stage 1 needs 12.7 KiB on device 1, which has 12.7 KiB: "
        "1.00 B missing");
}

TEST_CASE("megatron interleaves where that is faster: 4 operators as 4 stages on 2 devices") {
  const TimedChain chain({1, 1, 1, 1}, 2);
  planners::SearchOptions by_stages;
  by_stages.evaluate = [](const plan::Plan& p) { return core::Seconds(p.stages.size() == 4 ? 1 : 2); };
  const auto found = planned("megatron", chain.problem(8), by_stages);
  CHECK(found.plan.schedule == "interleaved_1f1b");
  CHECK(found.plan.stages[2].devices == found.plan.stages[0].devices);
  CHECK(found.bottleneck == support::near(6));  // two stages of 3 s per sample on each device
  // One micro-batch of 8 samples is no round of 2: nothing to interleave.
  by_stages.pipeline_micro_batch = 8;
  CHECK(planned("megatron", chain.problem(8), by_stages).plan.schedule == "1f1b");
}

TEST_CASE("megatron can deal out whole layers, with the embedding and the head as one each") {
  const auto graph = models::build(
      "gpt", {{"layers", "6"}, {"hidden", "64"}, {"heads", "4"}, {"sequence", "32"}, {"vocabulary", "128"}});
  const auto row = std::get<plan::LayerRow>(plan::layer_row(graph));
  const auto cluster = support::tiny_cluster(4);
  const cost::AnalyticCosts costs;
  planners::SearchOptions options;
  options.own = {{"units", "layers"}};
  for (const std::size_t stages : {4, 8}) {  // as many as ranks, and two on each
    options.evaluate = [&](const plan::Plan& p) { return core::Seconds(p.stages.size() == stages ? 1 : 2); };
    const auto found = planned("megatron", {graph, cluster, costs, {8, plan::Optimizer::sgd}}, options);
    REQUIRE(found.plan.stages.size() == stages);
    for (std::size_t s = 0; s < stages; ++s)
      for (const core::OpId op : found.plan.stages[s].operators)
        CHECK(static_cast<std::size_t>(row.part_of[op.index()]) / (8 / stages) == s);
  }
  CHECK(message<core::BadInput>("megatron", TimedChain({1, 1}, 2).problem(8), options) != "a plan was found");
}

TEST_CASE("megatron interleaves no further than the schedule goes: 64 stages per device") {
  // 260 operators on 2 devices divide into 1, 2, 5, 10, 13, 26, 65 or 130 stages on each; 26 is the most that
  // is allowed.
  const TimedChain chain(std::vector<double>(260, 1), 2);
  planners::SearchOptions most_stages;
  most_stages.evaluate = [](const plan::Plan& p) {
    return core::Seconds(1.0 / static_cast<double>(p.stages.size()));
  };
  CHECK(planned("megatron", chain.problem(8), most_stages).plan.stages.size() == 52);
}

namespace {

/// Stages of `d` replicas of `t` devices each, as Megatron deals them out.
plan::Plan megatron_plan(const cost::Problem& problem, std::size_t p, std::size_t t, std::size_t d,
                         std::size_t v, std::int64_t b, int zero, bool again) {
  const auto units = planners::planning_units(problem.graph);
  const std::size_t size = units.operators.size(), stages = p * v;
  plan::Plan plan;
  plan.training = problem.training;
  if (v > 1) plan.schedule = "interleaved_1f1b";
  for (std::size_t s = 0; s < stages; ++s) {
    plan::Stage stage;
    for (std::size_t u = s * size / stages; u < (s + 1) * size / stages; ++u)
      for (core::OpId op : units.operators[u]) stage.operators.push_back(op);
    std::sort(stage.operators.begin(), stage.operators.end());
    for (std::size_t r = 0; r < t * d; ++r) stage.devices.emplace_back(s % p * t * d + r);
    stage.micro_batch = b;
    stage.tensor_parallel = static_cast<int>(t);
    stage.zero = zero;
    if (again && !plan::segments(problem.graph, stage.operators, plan::kRecomputeLayers).empty())
      stage.recompute = plan::kRecomputeLayers;
    if (s > 0) stage.after = {core::StageId(s - 1)};
    plan.stages.push_back(stage);
  }
  score::derive_in_flight(problem, plan);
  return plan;
}

/// Every (tensor parallelism, replicas, chunks, micro-batch) of Megatron on one node, written down once more.
double best_of_grid(const cost::Problem& problem) {
  const std::size_t devices = problem.cluster.size(),
                    size = planners::planning_units(problem.graph).operators.size();
  const std::int64_t batch = problem.training.mini_batch;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t t = 1; t <= devices; t *= 2)
    for (std::size_t d = 1; d * t <= devices; d *= 2)
      for (std::size_t v = 1; v <= size; ++v)
        for (auto b = static_cast<std::int64_t>(d); b <= batch; b *= 2) {
          const std::size_t p = devices / (t * d);
          if (p * t * d != devices || batch % b != 0 || p * v > size) continue;
          const bool divides = size % (p * v) == 0 && static_cast<std::size_t>(batch / b) % p == 0;
          if (v > 1 && (p == 1 || !divides)) continue;
          const int most = d > 1 ? 1 : 0;
          for (const auto& [zero, again] : {std::pair{0, false}, {most, false}, {most, true}}) {
            const plan::Plan plan = megatron_plan(problem, p, t, d, v, b, zero, again);
            if (!score::violations(problem, plan).empty()) continue;
            best = std::min(best, estimate(problem, plan));
            break;
          }
        }
  return best;
}

}  // namespace

TEST_CASE("megatron evaluates at most 64 plans of each micro-batch size, those of least estimate") {
  const TimedChain chain(std::vector<double>(240, 1), 8);
  std::mutex counting;
  std::map<std::int64_t, int> calls;  // by samples of a replica
  planners::SearchOptions counted;
  counted.evaluate = [&](const plan::Plan& plan) {
    const std::lock_guard lock(counting);
    ++calls[plan.stages.front().micro_batch / plan.stages.front().replicas()];
    return core::Seconds(estimate(chain.problem(256), plan));
  };
  const auto found = planned("megatron", chain.problem(256), counted);
  CHECK(found.states > 64);
  int most = 0;
  for (const auto& [samples, count] : calls) most = std::max(most, count);
  CHECK(most == 64);
  CHECK(estimate(chain.problem(256), found.plan) ==
        estimate(chain.problem(256), planned("megatron", chain.problem(256)).plan));
}

TEST_CASE("megatron finds the best of its grid") {
  int feasible = 0, divided = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    const auto random = support::random_problem(seed);
    const double best = best_of_grid(random.problem());
    if (best == std::numeric_limits<double>::infinity()) {
      CHECK_THROWS_AS(planners::planner("megatron").plan(random.problem(), {}, {}), core::Infeasible);
      continue;
    }
    const auto found = planned("megatron", random.problem());
    CHECK(estimate(random.problem(), found.plan) == best);
    ++feasible;
    divided += found.plan.stages.front().tensor_parallel > 1;
  }
  CHECK(feasible > 100);
  CHECK(divided > 0);
}

TEST_CASE("megatron interleaves stages where an all-reduce is dearer than a bubble") {
  // Eight operators of 1 s and 4 MB of weights on four devices with links of 1 MB/s; 8 samples.
  graph::GraphBuilder builder("heavy");
  for (int i = 0; i < 8; ++i) {
    builder.add(support::unit_op("op" + std::to_string(i), 1e9, 1000000));
    if (i > 0)
      builder.add_edge(core::OpId(static_cast<std::size_t>(i - 1)), core::OpId(static_cast<std::size_t>(i)));
  }
  const auto graph = builder.build();
  const auto costs = support::FixedCosts::uniform(8, 1, 2);
  const auto cluster = support::tiny_cluster(4, std::int64_t{1} << 40, 1e6);
  const cost::Problem problem{graph, cluster, costs, {8, plan::Optimizer::sgd}};
  planners::SearchOptions alone;
  alone.max_tensor_parallel = 1;
  const auto found = planned("megatron", problem, alone);
  CHECK(found.plan.schedule == "interleaved_1f1b");
  CHECK(found.plan.stages.size() == 8);
  // Eight samples of 6 s on each device; of the 18 s elsewhere two stages per device wait for half.
  CHECK(estimate(problem, found.plan) == support::near(8 * 6 + 18.0 / 2, 1e-3));
}

namespace {

/// The least largest time of a stage, over all cuts of the row into one run per device.
double least_slowest(const cost::Problem& problem, std::int64_t micro_batch) {
  const auto units = planners::planning_units(problem.graph);
  const std::size_t size = units.operators.size();
  double best = std::numeric_limits<double>::infinity();
  for (unsigned cuts = 0; cuts < 1U << (size - 1); ++cuts) {
    if (static_cast<std::size_t>(std::popcount(cuts)) + 1 != problem.cluster.size()) continue;
    double slowest = 0, run = 0;
    for (std::size_t u = 0; u < size; ++u) {
      run += cost::compute_time(problem, units.operators[u], problem.cluster.types()[0], micro_batch)
                 .total()
                 .value();
      slowest = std::max(slowest, run);
      if (cuts >> u & 1) run = 0;
    }
    best = std::min(best, slowest);
  }
  return best;
}

}  // namespace

TEST_CASE("gpipe_equal's slowest stage is the least of all cuts") {
  int checked = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    auto random = support::random_problem(seed);
    random.cluster = support::tiny_cluster(random.cluster.size());  // memory is ample
    planners::SearchOptions pinned;
    pinned.pipeline_micro_batch = 2;
    const double best = least_slowest(random.problem(), 2);
    if (best == std::numeric_limits<double>::infinity()) {
      CHECK_THROWS_AS(planners::planner("gpipe_equal").plan(random.problem(), pinned, {}), core::Infeasible);
      continue;
    }
    double slowest = 0;
    for (const plan::Stage& stage : planned("gpipe_equal", random.problem(), pinned).plan.stages)
      slowest = std::max(slowest,
                         cost::compute_time(random.problem(), stage.operators, random.cluster.types()[0], 2)
                             .total()
                             .value());
    CHECK(slowest == support::near(best, 1e-12));
    ++checked;
  }
  CHECK(checked > 100);
}

TEST_CASE("options that a planner cannot honour are refused by name") {
  const TimedChain chain({1, 1, 1, 1}, 2);
  planners::SearchOptions per_stage, pairs, pinned;
  per_stage.per_stage_micro_batch = true;
  pairs.k = 2;
  pinned.pipeline_micro_batch = 3;
  CHECK(message<core::BadInput>("megatron", chain.problem(8), per_stage) ==
        "megatron gives all stages one micro-batch size, none of their own");
  CHECK(message<core::BadInput>("gpipe_memory", chain.problem(8), pairs) ==
        "k belongs to 1f1b, gpipe_memory has another schedule");
  for (const char* planner : {"data_parallel", "gpipe_equal", "megatron", "autopipe", "aceso", "exhaustive"})
    CHECK(message<core::BadInput>(planner, chain.problem(8), pinned) ==
          "micro-batch 3 does not divide the mini-batch 8");
}

TEST_CASE("a stop is honoured by every planner") {
  const std::atomic<bool> flag = true;
  const TimedChain chain({1, 1, 1, 1}, 1);
  for (const auto& info : planners::catalogue()) {
    CAPTURE(info.name);
    CHECK_THROWS_AS(info.plan(chain.problem(8), {}, core::StopToken(&flag)), core::InterruptedError);
  }
}
