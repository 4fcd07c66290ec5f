// dapple, alpa_inter and spp_luo from model and cluster to plan.

#include <doctest/doctest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <string>

#include "candidates.hpp"
#include "micro_batches.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/schedule/list_order.hpp"
#include "penstock/score/plan_pipeline.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/simulate.hpp"
#include "row_plan.hpp"
#include "src/planners/rows/dapple_latency.hpp"
#include "src/planners/rows/layers.hpp"
#include "src/planners/rows/slice_costs.hpp"
#include "support/checkout.hpp"
#include "support/fixed_costs.hpp"
#include "support/matrices.hpp"
#include "support/near.hpp"
#include "support/random_problem.hpp"
#include "units.hpp"

using namespace penstock;

namespace {

const cost::AnalyticCosts kCosts;
const char* const kPlanners[] = {"dapple", "alpa_inter", "spp_luo"};

cluster::Cluster load(const std::string& name) {
  return cluster::load_cluster(support::checkout("/experiments/clusters/") + name + ".yaml");
}

planners::SearchResult search(const char* planner, const cost::Problem& problem,
                              planners::SearchOptions options = {}) {
  auto found = planners::planner(planner).plan(problem, options, {});
  const auto violations = score::violations(problem, found.plan);
  CHECK_MESSAGE(violations.empty(), (violations.empty() ? "" : violations.front()));
  return found;
}

/// By simulated time.
planners::SearchOptions simulated(const cost::Problem& problem) {
  planners::SearchOptions options;
  options.evaluate = experiment::simulated_time(problem, {});
  return options;
}

double seconds(core::Picoseconds time) {
  return to_seconds(time).value();
}

/// Load of one micro-batch, its share of the all-reduce included.
double load_of(const schedule::PipelineStage& stage, int micro_batches) {
  return seconds(stage.forward + stage.backward) + seconds(stage.after) / micro_batches;
}

/// Stages and the links between them in turn; needs a chain.
std::vector<planners::PhaseTimes> alternating(const schedule::Pipeline& pipeline) {
  std::vector<planners::PhaseTimes> row;
  REQUIRE(pipeline.links.size() + 1 == pipeline.stages.size());
  for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
    const auto& stage = pipeline.stages[s];
    row.push_back({seconds(stage.forward), seconds(stage.backward), seconds(stage.after)});
    if (s == pipeline.links.size()) break;
    const auto& link = pipeline.links[s];
    row.push_back(
        {seconds(link.forward + link.forward_latency), seconds(link.backward + link.backward_latency), 0});
  }
  return row;
}

double slowest_machine(const schedule::Pipeline& pipeline) {
  double slowest = 0;
  for (const auto& stage : pipeline.stages)
    slowest = std::max(slowest, load_of(stage, pipeline.micro_batches));
  for (const auto& link : pipeline.links)
    slowest = std::max({slowest, seconds(link.forward + link.forward_latency),
                        seconds(link.backward + link.backward_latency)});
  return slowest;
}

}  // namespace

TEST_CASE("random problems: plans are valid, or the message names the missing memory") {
  int planned = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed)
    for (const char* planner : kPlanners) {
      CAPTURE(seed);
      CAPTURE(planner);
      const auto random = support::random_problem(seed);
      const cost::Problem problem = random.problem();
      try {
        const auto found = search(planner, problem);
        CHECK(found.estimate.value().value() > 0);
        CHECK(found.states > 0);
        ++planned;
      } catch (const core::Infeasible& e) {
        const std::string message = e.what();
        CHECK((message.find("times the memory") != std::string::npos ||
               message.find("on exactly") != std::string::npos));
        ++refused;
      }
    }
  CHECK(planned > 150);
  CHECK(refused > 20);
}

TEST_CASE("1, 2 and 4 threads find the same plan, byte by byte, on mixed devices and on a ring") {
  const auto graph = models::build("gpt", {{"layers", "4"}});
  for (const char* name : {"mixed", "pcie_ring"})
    for (const char* planner : kPlanners) {
      CAPTURE(name);
      CAPTURE(planner);
      const auto cluster = load(name);
      const cost::Problem problem{graph, cluster, kCosts, {32, plan::Optimizer::adam}};
      std::set<std::string> plans;
      for (std::size_t threads : {1, 2, 4}) {
        const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
        plans.insert(plan::to_yaml(graph, search(planner, problem, simulated(problem)).plan));
      }
      CHECK(plans.size() == 1);
    }
}

TEST_CASE(
    "on mixed devices spp_luo gives slow ones less work, and its plan beats one made for equal devices") {
  const auto graph = models::build("bert", {});
  const auto cluster = load("mixed");  // devices 0 to 3: V100; 4 to 7: P100
  cost::Problem problem{graph, cluster, kCosts, {64, plan::Optimizer::sgd}};
  problem.training.bucket = core::Bytes(0);  // else data parallelism hides its all-reduce and wins
  const auto found = search("spp_luo", problem, simulated(problem));
  double work[2] = {0, 0};
  for (const plan::Stage& stage : found.plan.stages)
    for (core::DeviceId d : stage.devices)
      for (core::OpId op : stage.operators)
        work[d.index() / 4] += graph.op(op).forward_flops.value() / static_cast<double>(stage.devices.size());
  CHECK(work[0] > 1.2 * work[1]);
  const auto evaluate = experiment::simulated_time(problem, {});
  const auto equal = search("spp", problem, simulated(problem));
  CHECK(evaluate(found.plan) < evaluate(equal.plan));
}

TEST_CASE("neighbours in spp_luo's pipeline on a ring exchange tensors over one cable") {
  // The ring of `pcie_ring` numbered crosswise: 0 - 2 - 1 - 3 - 0.
  const auto straight = load("pcie_ring");
  std::vector<cluster::Link> links = straight.links();
  const std::size_t crosswise[] = {0, 2, 1, 3};
  for (cluster::Link& link : links)
    link = {crosswise[link.from], crosswise[link.to], link.bandwidth, link.latency};
  const cluster::Cluster ring("ring", straight.types(), straight.devices(), 0, links);
  const auto graph = models::build("gpt", {{"layers", "4"}});
  const cost::Problem problem{graph, ring, kCosts, {64, plan::Optimizer::sgd}};
  planners::SearchOptions pinned;
  pinned.pipeline_micro_batch = 1;  // no replicas: four stages
  const auto plan = search("spp_luo", problem, pinned).plan;
  REQUIRE(plan.stages.size() == 4);
  for (std::size_t s = 0; s + 1 < 4; ++s)
    CHECK(ring.route(plan.stages[s].devices.front(), plan.stages[s + 1].devices.front()).links.size() == 1);
}

TEST_CASE("the estimate is the planner's own formula") {
  const auto graph = models::build("gpt", {{"layers", "4"}});
  const auto cluster = load("summit").first(1);
  const cost::Problem problem{graph, cluster, kCosts, {8, plan::Optimizer::sgd}};
  planners::SearchOptions pinned;
  pinned.pipeline_micro_batch = 2;
  for (const char* planner : kPlanners) {  // one device: four micro-batches one by one, for all of them
    CAPTURE(planner);
    const auto found = search(planner, problem, pinned);
    const auto& operators = found.plan.stages.front().operators;
    const double each = cost::compute_time(problem, operators, cluster.types().front(), 2).total().value();
    CHECK(found.estimate.value().value() == support::near(4 * each, 1e-6));
    CHECK(found.bottleneck == support::near(each / 2, 1e-6));
  }
}

TEST_CASE("each objective is that of the plan's own pipeline, read back stage by stage and link by link") {
  const auto graph = models::build("transformer", {});
  for (const char* name : {"mixed", "pcie_ring"})
    for (std::int64_t micro_batch : {1, 4, 16}) {
      CAPTURE(name);
      CAPTURE(micro_batch);
      const auto cluster = load(name);
      cost::Problem problem{graph, cluster, kCosts, {64, plan::Optimizer::sgd}};
      problem.training.bucket = core::Bytes(0);  // planners estimate what buckets hide
      planners::SearchOptions pinned;
      pinned.pipeline_micro_batch = micro_batch;
      const int m = static_cast<int>(64 / micro_batch);

      const auto mapped = search("spp_luo", problem, pinned);
      CHECK(mapped.bottleneck * static_cast<double>(micro_batch) ==
            support::near(slowest_machine(score::pipeline_of(problem, mapped.plan)), 1e-6));
      CHECK(mapped.estimate.value() <=
            to_seconds(schedule::list_order_bound(score::pipeline_of(problem, mapped.plan))));

      const auto placed = search("dapple", problem, pinned);
      const auto row = alternating(score::pipeline_of(problem, placed.plan));
      CHECK(placed.estimate.value().value() == support::near(planners::dapple_latency(row, m), 1e-6));

      const auto meshed = search("alpa_inter", problem, pinned);
      double sum = 0, slowest = 0;
      for (const schedule::PipelineStage& stage : score::pipeline_of(problem, meshed.plan).stages) {
        sum += load_of(stage, m);
        slowest = std::max(slowest, load_of(stage, m));
      }
      // Submeshes are priced on the slowest host, so a placement may turn out better.
      const double expected = sum + (m - 1) * slowest;
      if (cluster.types().size() == 1)
        CHECK(meshed.estimate.value().value() == support::near(expected, 1e-6));
      else
        CHECK(meshed.estimate.value().value() >= expected * (1 - 1e-6));
    }
}

TEST_CASE(
    "dapple warms up by 2 (S - s) - 1 micro-batches; where memory is short, by less from stage to stage") {
  const auto graph = support::tiny_graph(4, {{0, 1}, {1, 2}, {2, 3}});
  const support::FixedCosts costs = support::FixedCosts::uniform(4, 1, 2);
  const auto held = [&](std::int64_t memory, std::int64_t mini_batch) {
    const auto cluster = support::tiny_cluster(4, memory);
    const cost::Problem problem{graph, cluster, costs, {mini_batch, plan::Optimizer::sgd}};
    planners::SearchOptions pinned;
    pinned.pipeline_micro_batch = 1;  // four stages
    std::vector<std::int64_t> out;
    for (const plan::Stage& stage : search("dapple", problem, pinned).plan.stages)
      out.push_back(stage.in_flight);
    return out;
  };
  using Counts = std::vector<std::int64_t>;
  CHECK(held(1 << 20, 16) == Counts{7, 5, 3, 1});
  CHECK(held(1 << 20, 6) == Counts{6, 5, 3, 1});
  CHECK(held(1 << 20, 2) == Counts{2, 2, 2, 1});
  // Stage 0 keeps 1 kB per sample, works on 1 kB, and has two gradients of 1 kB to receive: 9 kB leave room
  // for 6. Stage 1 keeps 1 kB, holds 1 kB that enters, works on 2 kB and has buffers of 3 kB. The 2 kB each
  // leave room for 2, not for 3.
  CHECK_THROWS_AS(held(9000, 16), core::Infeasible);
  CHECK(held(11000, 16) == Counts{7, 3, 2, 1});  // room for 8 and, in stages 1 and 2, for 3
}

TEST_CASE("a request to stop is honoured; options without meaning are refused") {
  const auto graph = models::build("gpt", {{"layers", "4"}});
  const auto cluster = load("summit").first(8);
  const cost::Problem problem{graph, cluster, kCosts, {64, plan::Optimizer::sgd}};
  std::atomic<bool> flag = true;
  for (const char* name : kPlanners) {
    CAPTURE(name);
    const auto& planner = planners::planner(name);
    CHECK_THROWS_AS(planner.plan(problem, {}, core::StopToken(&flag)), core::InterruptedError);
    planners::SearchOptions runs, sizes;
    runs.k = 2;
    sizes.per_stage_micro_batch = true;
    CHECK_THROWS_AS(planner.plan(problem, runs, {}), core::BadInput);
    CHECK_THROWS_AS(planner.plan(problem, sizes, {}), core::BadInput);
  }
  planners::SearchOptions any;
  any.any_degree = true;
  CHECK_THROWS_AS(planners::planner("alpa_inter").plan(problem, any, {}), core::BadInput);
  const auto large = support::tiny_cluster(65);
  CHECK_THROWS_AS(
      planners::planner("spp_luo").plan({graph, large, kCosts, {64, plan::Optimizer::sgd}}, any, {}),
      core::BadInput);
  // One stage on all three devices needs any degree; powers of two leave 1 + 2.
  const auto three = support::tiny_cluster(3);
  const auto row = support::tiny_graph(2, {{0, 1}});
  const support::FixedCosts even = support::FixedCosts::uniform(2, 1, 2);
  for (const char* name : {"dapple", "spp_luo"}) {
    const cost::Problem odd{row, three, even, {6, plan::Optimizer::sgd}};
    any.pipeline_micro_batch = 6;
    CHECK(search(name, odd, any).plan.stages.size() == 1);
    planners::SearchOptions powers;
    powers.pipeline_micro_batch = 6;
    CHECK(search(name, odd, powers).plan.stages.size() == 2);
  }
}

TEST_CASE("the memory in the message is enough, and a little less is not") {
  const auto graph = support::tiny_graph(3, {{0, 1}, {1, 2}});
  for (const char* planner : kPlanners) {
    CAPTURE(planner);
    const auto feasible = [&](std::int64_t memory) {
      const auto cluster = support::tiny_cluster(1, memory);
      const cost::Problem problem{graph, cluster, kCosts, {4, plan::Optimizer::sgd}};
      try {
        search(planner, problem);
        return true;
      } catch (const core::Infeasible&) {
        return false;
      }
    };
    // All three in one stage: 3 kB kept and 2 kB worked on.
    CHECK(feasible(5000));
    CHECK_FALSE(feasible(4999));
  }
}

TEST_CASE("long rows are clustered: layers are even, and wide tensors stay inside") {
  // Twelve units of work 1; between units 2 k and 2 k + 1 a wide tensor. Six layers of two hide all wide
  // ones.
  std::vector<double> work(12, 1), crossing;
  for (int c = 0; c < 12; ++c) crossing.push_back(c % 2 == 1 ? 9 : 1);
  CHECK(planners::cluster_row(work, crossing, 6) == std::vector<int>{2, 4, 6, 8, 10, 12});
  CHECK(planners::cluster_row(work, crossing, 12).size() == 12);  // few enough: nothing to do
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    work.clear();
    for (int u = random.between(5, 60); u > 0; --u) work.push_back(random.chance(0.2) ? 0 : random.unit());
    crossing.assign(work.size(), 1);
    const int most = random.between(1, 4);
    const auto ends = planners::cluster_row(work, crossing, most);
    CHECK(ends.size() <= static_cast<std::size_t>(most));
    CHECK(ends.back() == static_cast<int>(work.size()));
    const double mean = std::accumulate(work.begin(), work.end(), 0.0) / most;
    for (std::size_t k = 0; k < ends.size(); ++k) {
      const int begin = k == 0 ? 0 : ends[k - 1];
      CHECK(begin < ends[k]);
      const double sum = std::accumulate(work.begin() + begin, work.begin() + ends[k], 0.0);
      CHECK((sum <= 2 * mean * (1 + 1e-12) || ends[k] - begin == 1));
    }
  }
}

TEST_CASE("an experiment runs all three") {
  for (const char* planner : kPlanners) {
    CAPTURE(planner);
    experiment::Cell cell;
    cell.model.name = "case_study";
    cell.cluster = {support::checkout("/experiments/clusters/mixed.yaml"), 8};
    cell.planner.name = planner;
    cell.training.mini_batch = 32;
    const auto outcome = experiment::run_cell({}, cell, kCosts, {});
    CHECK(outcome.row.status == "ok");
    CHECK(outcome.row.iteration_s.value() > 0);
  }
}

TEST_CASE(
    "runs of units take as long as on a rank's slowest device, and their forward pass twice if recomputed") {
  // Two operators of 1 s forward and 2 s backward per sample; the third device computes at half the pace.
  const auto g = support::tiny_graph(2, {{0, 1}});
  auto types = support::tiny_cluster(1).types();
  types.push_back(types[0]);
  types[0].kernel_slowdown = 2;
  std::vector<cluster::Link> links;
  for (std::size_t d = 0; d < 4; ++d) {
    links.push_back({d, 4, core::Bandwidth(1e9), core::Seconds(0)});
    links.push_back({4, d, core::Bandwidth(1e9), core::Seconds(0)});
  }
  const cluster::Cluster c("mixed", types, {{1, 0}, {1, 0}, {0, 0}, {1, 0}}, 1, links);
  const support::FixedCosts costs({1, 1}, {2, 2});
  const cost::Problem problem{g, c, costs, {8}};
  const auto units = planners::planning_units(g);
  const planners::RunTimes times(problem, units, 4, 2, false), again(problem, units, 4, 2, true);
  const std::size_t all = units.operators.size();
  CHECK(times(0, 0, all) == support::near(2 * 2 * 3));  // two samples for each replica
  CHECK(times(1, 0, all) == support::near(2 * 2 * 3 * 2));
  CHECK(again(0, 0, all) == support::near(2 * 2 * 4));
  CHECK(again(1, 0, all) == support::near(2 * 2 * 4 * 2));
}

namespace {

/// Devices on one switch, of two types, of which one computes at half the pace.
cluster::Cluster two_paces(const std::vector<std::size_t>& type_of, std::size_t slow = 1) {
  auto types = support::tiny_cluster(1).types();
  types.push_back(types[0]);
  types[slow].kernel_slowdown = 2;
  std::vector<cluster::Link> links;
  std::vector<cluster::Device> devices;
  for (std::size_t d = 0; d < type_of.size(); ++d) {
    devices.push_back({type_of[d], 0});
    links.push_back({d, type_of.size(), core::Bandwidth(1e9), core::Seconds(0)});
    links.push_back({type_of.size(), d, core::Bandwidth(1e9), core::Seconds(0)});
  }
  return {"paces", types, devices, 1, links};
}

}  // namespace

TEST_CASE("a slice is as slow as its slowest device, and reduces gradients as they are sent") {
  const auto g = support::matrices(2);
  const support::FixedCosts costs({1, 1}, {2, 2});
  plan::Training training{8};
  training.bucket = core::Bytes(0);
  training.compression.gradients = 0.5;
  for (const std::size_t slow : {0, 1}) {
    const auto c = two_paces({0, 1}, slow);
    const cost::Problem problem{g, c, costs, training};
    const planners::PlanningLayers layers(problem, 8, 4, {});
    planners::SlicePrices prices(problem, layers, 4, 1);
    const int both = prices.of({core::DeviceId(0), core::DeviceId(1)});
    const auto& times = prices[both].times[layers.index(0, layers.size())];
    CHECK(times.forward == support::near(2 * 2 * 2));  // two samples of two operators on the slow one
    CHECK(times.backward == support::near(2 * 2 * 4));
    CHECK(times.reduce == support::near(8000 * 0.5 / 1e9));  // half of 8 kB round a ring of two
  }
  // Compressed tensors take their share of a route's time.
  const auto c = two_paces({0, 0});
  const planners::RouteTable routes(c, {1, 0.25}, {});
  CHECK(routes(core::DeviceId(0), core::DeviceId(1)).per_byte == support::near(0.25e-9));
}

TEST_CASE("an input is planned with its first reader") {
  graph::GraphBuilder b("input");
  graph::Operator input = support::unit_op("x");
  input.kind = graph::OpKind::input;
  const auto x = b.add(input);
  const auto first = b.add(support::unit_op("a"), {x});
  b.add(support::unit_op("b"), {first});
  const auto units = planners::planning_units(b.build());
  REQUIRE(units.operators.size() == 2);
  CHECK(units.operators[0] == std::vector<core::OpId>{core::OpId(0), core::OpId(1)});
}

TEST_CASE("the least that a mini-batch takes is on the fastest devices, all at once") {
  const auto g = support::tiny_graph(2, {{0, 1}});
  const support::FixedCosts costs({1, 1}, {2, 2});
  for (const std::size_t slow : {0, 1}) {
    const auto c = two_paces({0, 1}, slow);
    // Eight samples of 6 s on two devices as fast as the faster one.
    CHECK(planners::least_compute({g, c, costs, {8}}, 4).value() == support::near(8 * 6 / 2.0, 1e-6));
  }
}

TEST_CASE("memory of stages of one rank adds up; a candidate that may win is evaluated") {
  const auto g = support::matrices(2);
  const support::FixedCosts costs({1, 1}, {2, 2});
  const auto c = support::tiny_cluster(1);
  plan::Plan p;
  p.training = {8};
  p.schedule = "looped_bfs";
  p.stages = {support::stage(0, 0, 1, 1), support::stage(1, 1, 1, 1)};
  const cost::Problem problem{g, c, costs, p.training};
  for (auto& stage : p.stages) stage.micro_batch = 4, stage.in_flight = 8;
  const auto memories = score::stage_memories(problem, p);
  CHECK(planners::fullest_need(problem, p) == plan::total(memories[0]) + plan::total(memories[1]));
  // Both promise a second at least; the first takes 1.1 s, the second 1.05 s.
  std::vector<planners::PlanCandidate> found(2);
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i].plan = p;
    found[i].plan->planner = i == 0 ? "first" : "second";
    found[i].seconds = 2;
    found[i].late = false;
  }
  planners::SearchOptions options;
  options.evaluate = [](const plan::Plan& one) { return core::Seconds(one.planner == "first" ? 1.1 : 1.05); };
  options.at_least = [](const plan::Plan&) { return core::Seconds(1); };
  CHECK(planners::evaluate_leading(found, options, 8, {}));
  CHECK(planners::winner(problem, found, {}).plan->planner == "second");
}

TEST_CASE("a row that does not fit shards its state over context groups, also of one replica") {
  // Two devices divide the tokens of each sample; both hold all weights.
  const auto g =
      models::build("gpt", {{"layers", "2"}, {"hidden", "256"}, {"heads", "8"}, {"sequence", "64"}});
  const auto units = planners::planning_units(g);
  planners::EvenRow row;
  row.context_parallel = 2;
  row.thrift_at_need = true;
  const plan::Training training{2, plan::Optimizer::adam};
  const auto needed = [&](int zero) {
    const auto ample = support::tiny_cluster(2);
    const cost::Problem problem{g, ample, kCosts, training};
    planners::EvenRow stated = row;
    stated.zero = zero;
    const auto plan = planners::row_plan(problem, units, stated, {units.operators.size()});
    return plan::total(score::stage_memories(problem, plan)[0]).value();
  };
  REQUIRE(needed(1) < needed(0));
  const auto tight = support::tiny_cluster(2, needed(1));
  const cost::Problem problem{g, tight, kCosts, training};
  const auto found = planners::fastest(
      problem, {}, units, {row},
      [&](const planners::EvenRow&) { return std::vector{units.operators.size()}; }, "none", {});
  CHECK(found.plan.stages[0].zero == 1);
  CHECK_FALSE(found.plan.stages[0].recompute);
}

TEST_CASE("gradients at a junction take the routes back") {
  // Two devices in front of two behind; 4 samples there at 1 MB/s, back at 1 kB/s.
  const auto plain = support::tiny_cluster(4, std::int64_t{1} << 40, 1e6, 0.5);
  auto links = plain.links();
  for (cluster::Link& link : links)
    if (link.from >= 2 && link.from < 4) link.bandwidth = core::Bandwidth(1e3);
  const cluster::Cluster c("one way", plain.types(), plain.devices(), 1, links);
  const planners::RouteTable routes(c, {}, {});
  using Devices = std::vector<core::DeviceId>;
  const auto [there, back] = planners::junction(routes, Devices{core::DeviceId(0), core::DeviceId(1)},
                                                Devices{core::DeviceId(2), core::DeviceId(3)}, 8);
  CHECK(there.per_byte == support::near(4 / 1e6));
  CHECK(back.per_byte == support::near(4 / 1e3));
  CHECK(there.latency == support::near(1.0));  // two cables, however many samples
}
