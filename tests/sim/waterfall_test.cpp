#include "penstock/sim/waterfall.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "penstock/cost/analytic.hpp"
#include "penstock/cost/pass_parts.hpp"
#include "penstock/cost/utilisation.hpp"
#include "penstock/graph/work.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/summary.hpp"
#include "support/fixed_costs.hpp"
#include "support/judged_plan.hpp"
#include "support/matrices.hpp"
#include "support/near.hpp"
#include "support/random_plan.hpp"
#include "support/small_mixture.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;
using core::Picoseconds;
using sim::TimePart;
using sim::Waterfall;
using support::matrices;
using support::stage;

namespace {

double seconds(const Waterfall& waterfall, TimePart part) {
  return to_seconds(waterfall.of(part)).value();
}

double sum(const Waterfall& waterfall, std::initializer_list<TimePart> parts) {
  double out = 0;
  for (const TimePart part : parts) out += seconds(waterfall, part);
  return out;
}

/// To the picosecond, and no part below zero.
void check_sum(const Waterfall& waterfall, Picoseconds iteration) {
  Picoseconds all;
  for (const Picoseconds part : waterfall.time) {
    CHECK(part >= Picoseconds(0));
    all += part;
  }
  CHECK(all == iteration);
  CHECK(waterfall.iteration == iteration);
}

/// Each of up to 13 parts is rounded to a picosecond.
void check_close(double a, double b) {
  CHECK(std::abs(a - b) <= 2e-11 + 1e-9 * b);
}

/// Simulates, and compares the parts with the summary of the same run.
Waterfall checked(const cost::Problem& problem, plan::Plan plan, const sim::SimulationOptions& options = {}) {
  const auto scheduled = score::scheduled(problem, std::move(plan));
  const auto trace = sim::simulate(problem, scheduled, options);
  const Waterfall out = sim::waterfall(problem, scheduled, options);
  check_sum(out, trace.iteration);
  CHECK(sim::waterfall(problem, scheduled.plan, trace::TraceByDevice(trace), options).time == out.time);
  return out;
}

constexpr std::initializer_list<TimePart> kBusy = {TimePart::model,        TimePart::kernels,
                                                   TimePart::sustained,    TimePart::host,
                                                   TimePart::slowed,       TimePart::step,
                                                   TimePart::recomputation},
                                          kWaits = {TimePart::tensor, TimePart::experts, TimePart::context,
                                                    TimePart::pipeline, TimePart::reduction};

}  // namespace

TEST_CASE("waterfall of a chain of two, in words") {
  // An operator's passes are 3 GFLOP a sample, 3 ms of a device of 1 TFLOP/s; they take 2 and 4 ms. gpipe,
  // two micro-batches of a sample; 1 kB takes 1 us. Device 1 begins at 2.001 ms and has computed both
  // forwards at 6.001 and both backwards at 14.001 ms. Device 0 ends with the second one's, 14.002 + 4 ms.
  // Each computes 2 x 6 ms, 6 of them at peak. Device 0 idles while its second sample leaves and the first
  // gradient arrives. Device 1 idles while the first sample arrives and the second gradient leaves. That is 2
  // us each.
  const auto g = support::tiny_graph(2, {{0, 1}});
  const auto cluster = support::tiny_cluster(2);
  const auto costs = support::FixedCosts::uniform(2, 2e-3, 4e-3);
  plan::Plan plan;
  plan.training.mini_batch = 2;
  plan.schedule = "gpipe";
  for (std::size_t s = 0; s < 2; ++s) plan.stages.push_back({{OpId(s)}, {DeviceId(s)}, 1, 1, 0, {}});
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  const Waterfall w = checked(problem, plan);
  CHECK(w.iteration == Picoseconds(18'002'000'000));
  CHECK(w.of(TimePart::model) == Picoseconds(6'000'000'000));
  CHECK(w.of(TimePart::kernels) == Picoseconds(6'000'000'000));
  CHECK(w.of(TimePart::pipeline) == Picoseconds(2'000'000));
  CHECK(w.of(TimePart::bubble) == Picoseconds(6'000'000'000));
  CHECK(w.share(TimePart::model) == support::near(6 / 18.002));
  CHECK(w.reached(TimePart::model) == 1);
  CHECK(w.reached(TimePart::kernels) == support::near(0.5));
  CHECK(w.reached(TimePart::bubble) == support::near(6 / 18.002));
  CHECK(w.without(TimePart::bubble) == support::near(6 / 12.002));
  // A third device that the plan leaves out idles: a third of all.
  const auto three = support::tiny_cluster(3);
  const Waterfall idle = checked({g, three, costs, plan.training}, plan);
  CHECK(idle.of(TimePart::model) == Picoseconds(4'000'000'000));
  CHECK(idle.of(TimePart::bubble) == Picoseconds(2 * 6'000'000'000 / 3 + 18'002'000'000 / 3 + 1));
}

TEST_CASE("waterfall: tensor-parallel collectives, recomputation, lasting load and the host are apart") {
  // Three matrices of 1000 weights on two devices that halve each: 4 samples of 2 s forward and 4 s backward,
  // 12 s and 24 s. 4 kB of sums around a ring of two: 4 us each way. 9 GFLOP a sample: 18 ms of each device.
  const auto g = matrices(3);
  const auto cluster = support::tiny_cluster(2);
  const auto costs = support::FixedCosts::uniform(3, 2.0, 4.0);
  plan::Plan plan;
  plan.training.mini_batch = 4;
  plan.stages = {stage(0, 2, 2, 2)};
  plan.stages[0].micro_batch = 4;
  const auto on = [&](const cluster::Cluster& which) {
    const cost::Problem problem{g, which, costs, plan.training};
    score::derive_in_flight(problem, plan);
    return checked(problem, plan);
  };
  const Waterfall plain = on(cluster);
  CHECK(seconds(plain, TimePart::tensor) == support::near(8e-6));
  CHECK(seconds(plain, TimePart::model) == support::near(18e-3));
  CHECK(seconds(plain, TimePart::kernels) == support::near(36 - 18e-3));
  CHECK(seconds(plain, TimePart::sustained) == 0);
  CHECK(seconds(plain, TimePart::step) > 0);
  // The forward pass again: 12 s more, and its sums.
  plan.stages[0].recompute = plan::kRecomputeStage;
  const Waterfall again = on(cluster);
  CHECK(seconds(again, TimePart::recomputation) == support::near(12));
  CHECK(seconds(again, TimePart::tensor) == support::near(12e-6));
  CHECK(again.of(TimePart::kernels) == plain.of(TimePart::kernels));
  // Kernels take a quarter longer: 9 s beside the 36 s, 15 s of passes that compute again.
  const Waterfall loaded = on(cluster.slowed_by(1.25));
  CHECK(seconds(loaded, TimePart::sustained) == support::near(9));
  CHECK(seconds(loaded, TimePart::recomputation) == support::near(15));
  CHECK(loaded.of(TimePart::kernels) == plain.of(TimePart::kernels));
}

TEST_CASE("waterfall: what the host adds is apart") {
  // Two operators of 1 ms each way; every pass of one is a task, which the runtime starts 1 ms late.
  graph::GraphBuilder builder("norms");
  for (const char* name : {"a", "b"}) {
    auto op = support::unit_op(name, 1e9, 1000);
    op.kind = graph::OpKind::norm;
    builder.add(op);
  }
  builder.add_edge(OpId(0), OpId(1));
  const auto g = builder.build();
  const auto costs = support::FixedCosts::uniform(2, 1e-3, 1e-3);
  plan::Plan plan;
  plan.training.mini_batch = 1;
  plan.stages = {stage(0, 1, 1, 1)};
  const auto plain = support::tiny_cluster(1);
  const auto slow = plain.run_by({core::Seconds(0), core::Seconds(1e-3)});
  const cost::Problem problem{g, slow, costs, plan.training};
  score::derive_in_flight(problem, plan);
  const Waterfall hosted = checked(problem, plan);
  CHECK(seconds(hosted, TimePart::host) == support::near(4e-3));  // two operators, forward and backward
  CHECK(sum(hosted, {TimePart::model, TimePart::kernels}) == support::near(4e-3));
}

TEST_CASE("waterfalls of random plans sum to the picosecond and agree with summaries") {
  std::size_t with_model = 0, with_reduction = 0, with_bubble = 0;
  for (std::uint64_t seed = 0; seed < 240; ++seed) {
    INFO("seed " << seed);
    auto c = support::random_plan(seed, seed % 3 == 0 ? 1 : 4);
    if (seed % 5 == 0) c.options.pass_collectives = sim::PassCollectives::links;
    const auto problem = c.problem();
    const auto scheduled = score::scheduled(problem, c.plan);
    const auto summary = sim::simulate_summary(problem, scheduled, c.options);
    const Waterfall w = sim::waterfall(problem, scheduled, c.options);
    check_sum(w, to_picoseconds(summary.iteration));
    const double iteration = summary.iteration.value();
    const auto used = cost::utilisation(problem.graph, problem.cluster, summary.samples_per_second);
    if (w.of(TimePart::kernels) > Picoseconds(0))
      CHECK(w.share(TimePart::model) == support::near(used.mfu, 1e-9));
    with_model += w.of(TimePart::model) > Picoseconds(0);
    with_reduction += w.of(TimePart::reduction) > Picoseconds(0);
    with_bubble += w.of(TimePart::bubble) > Picoseconds(0);
    if (summary.mini_batches > 1) continue;
    const bool buckets_wait =
        std::ranges::any_of(c.plan.stages, [](const plan::Stage& s) { return s.zero >= 2; });
    if (buckets_wait) continue;  // longer than whole passes in the trace
    check_close(sum(w, kBusy), (1 - summary.bubble) * iteration);
    check_close(sum(w, kWaits), summary.exposed_communication * iteration);
  }
  CHECK(with_model > 200);
  CHECK(with_reduction > 100);
  CHECK(with_bubble > 200);
}

TEST_CASE("waterfalls of every schedule sum to the picosecond") {
  const std::vector<std::pair<const char*, std::vector<std::int32_t>>> rows = {
      {"1f1b", schedule::loop_placement(4, 1)},
      {"gpipe", schedule::loop_placement(4, 1)},
      {"zb_h1", schedule::loop_placement(4, 1)},
      {"zb_h2", schedule::loop_placement(4, 1)},
      {"list_order", schedule::loop_placement(4, 1)},
      {"pipedream", schedule::loop_placement(4, 1)},
      {"pipedream_2bw", schedule::loop_placement(4, 1)},
      {"looped_bfs", schedule::loop_placement(4, 2)},
      {"interleaved_1f1b", schedule::loop_placement(4, 2)},
      {"interleaved_zb", schedule::loop_placement(4, 2)},
      {"zbv", schedule::zigzag_placement(4, 2)},
      {"v_half", schedule::zigzag_placement(4, 2)},
      {"v_min", schedule::zigzag_placement(4, 2)},
      {"dualpipev", schedule::zigzag_placement(4, 2)},
      {"hanayo", schedule::zigzag_placement(4, 2)}};
  for (const auto& [family, rank] : rows) {
    INFO(family);
    std::vector<std::pair<int, int>> edges;
    for (int s = 0; s + 1 < static_cast<int>(rank.size()); ++s) edges.emplace_back(s, s + 1);
    const auto g = support::tiny_graph(rank.size(), edges);
    const auto cluster = support::tiny_cluster(4);
    const auto costs = support::FixedCosts::uniform(rank.size(), 3e-3, 5e-3);
    plan::Plan plan;
    plan.training.mini_batch = 12;
    plan.schedule = family;
    for (std::size_t s = 0; s < rank.size(); ++s)
      plan.stages.push_back({{OpId(s)}, {DeviceId(static_cast<std::size_t>(rank[s]))}, 1, 1, 0, {}});
    const cost::Problem problem{g, cluster, costs, plan.training};
    score::derive_in_flight(problem, plan);
    const Waterfall w = checked(problem, plan);
    const double stages = static_cast<double>(rank.size()) / 4;
    CHECK(seconds(w, TimePart::model) == support::near(stages * 12 * 3e-3, 1e-9));
    CHECK(seconds(w, TimePart::kernels) == support::near(stages * 12 * 5e-3, 1e-9));
  }
}

TEST_CASE("waterfalls with experts, context and tensor parallelism, ZeRO and recomputation") {
  const auto g = support::small_mixture("4");
  const support::FlopCosts costs;
  for (const bool links : {false, true})
    for (const int tensor : {1, 2})
      for (const int context : {1, 2})
        for (const int experts : {1, 2})
          for (const int zero : {0, 1, 2, 3}) {
            INFO("links " << links << " TP " << tensor << " CP " << context << " EP " << experts << " ZeRO "
                          << zero);
            const auto devices = static_cast<std::size_t>(2 * tensor * context);
            const auto cluster = support::tiny_cluster(devices).slowed_by(1.5);
            plan::Plan plan;
            plan.training.mini_batch = 8;
            plan.stages = {support::stage_of(0, g.size(), devices, 4)};
            plan::Stage& all = plan.stages[0];
            all.tensor_parallel = tensor;
            all.context_parallel = context;
            all.expert_parallel = experts;
            all.zero = zero;
            if (zero == 2) all.recompute = plan::kRecomputeStage;
            const cost::Problem problem{g, cluster, costs, plan.training};
            score::derive_in_flight(problem, plan);
            sim::SimulationOptions options;
            if (links) options.pass_collectives = sim::PassCollectives::links;
            const Waterfall w = checked(problem, plan, options);
            CHECK((w.of(TimePart::tensor) > Picoseconds(0)) == (tensor > 1));
            CHECK((w.of(TimePart::context) > Picoseconds(0)) == (context > 1));
            CHECK((w.of(TimePart::experts) > Picoseconds(0)) == (experts > 1));
            CHECK((w.of(TimePart::recomputation) > Picoseconds(0)) == (zero == 2));
            CHECK(w.of(TimePart::reduction) > Picoseconds(0));
            CHECK(w.of(TimePart::sustained) > Picoseconds(0));
            const std::vector<std::int64_t> samples(2, 2);
            for (const auto& parts : cost::pass_parts(problem, all, samples)) {
              double total = 0;
              for (const auto* each : {&parts.kernels, &parts.sustained, &parts.host, &parts.tensor,
                                       &parts.experts, &parts.context, &parts.replicas})
                total += each->total().value();
              CHECK(total == support::near(cost::stage_time(problem, all, 2).total().total().value(), 1e-9));
            }
          }
}

TEST_CASE("waterfall: what a perturbation adds to passes is apart") {
  const auto g = support::tiny_graph(1, {});
  const auto cluster = support::tiny_cluster(1);
  const auto costs = support::FixedCosts::uniform(1, 2e-3, 4e-3);
  plan::Plan plan;
  plan.training.mini_batch = 1;
  plan.stages = {stage(0, 0, 1, 1)};
  const cost::Problem problem{g, cluster, costs, plan.training};
  score::derive_in_flight(problem, plan);
  sim::Perturbation perturbation =
      sim::parse_perturbation("devices: [{device: 0, speed: 0.5}]", "slow", cluster);
  sim::SimulationOptions options;
  options.perturbation = &perturbation;
  const Waterfall w = checked(problem, plan, options);
  CHECK(seconds(w, TimePart::slowed) == support::near(6e-3));  // 6 ms at half the speed
  CHECK(sum(w, {TimePart::model, TimePart::kernels}) == support::near(6e-3));
}

TEST_CASE("a collective within a pass takes at least a launch of the slowest host of its replica") {
  // Two layers with a mixture each, on two replicas of two devices that halve the experts: rows go there and
  // back, forward and backward. Of each replica one host takes 1 ms for a kernel, the other none.
  const auto g = support::small_mixture("2");
  const support::FlopCosts costs;
  for (const std::size_t slow : {0, 1}) {
    const auto plain = support::tiny_cluster(4);
    auto types = plain.types();
    types.push_back(types.front());
    types.back().name = "slow";
    types.back().runtime = cluster::FrameworkRuntime{core::Seconds(1e-3), core::Seconds(0)};
    auto devices = plain.devices();
    for (const std::size_t replica : {0, 1}) devices[2 * replica + slow].type = 1;
    const cluster::Cluster cluster("hosts", types, devices, 1, plain.links());
    plan::Plan plan;
    plan.training.mini_batch = 4;
    plan.stages = {support::stage_of(0, g.size(), 4, 4)};
    plan.stages[0].tensor_parallel = 2;
    plan.stages[0].expert_parallel = 2;
    const cost::Problem problem{g, cluster, costs, plan.training};
    const std::vector<std::int64_t> samples(2, 2);
    for (const auto& parts : cost::pass_parts(problem, plan.stages[0], samples)) {
      CHECK(parts.experts.forward.value() == support::near(2 * 2 * 1e-3));
      CHECK(parts.experts.input_gradient.value() == support::near(2 * 2 * 1e-3));
    }
  }
}
