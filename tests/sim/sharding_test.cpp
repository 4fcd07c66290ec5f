// Plans with tensor parallelism, ZeRO and compression, by hand.

#include <doctest/doctest.h>

#include <algorithm>

#include "penstock/check/trace_violations.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/order.hpp"
#include "penstock/score/validate.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/sim/simulate.hpp"
#include "penstock/trace/summary.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::DeviceId;
using core::OpId;
using trace::TaskKind;

namespace {

/// Matrices of 1000 weights (4 kB), each making 1 kB per sample, a second forward and two backward.
struct MatrixProblem {
  MatrixProblem(std::size_t count, std::size_t devices)
      : graph(build(count)),
        cluster(support::tiny_cluster(devices)),
        costs(support::FixedCosts::uniform(count, 1, 2)) {}
  static graph::OpGraph build(std::size_t count) {
    graph::GraphBuilder builder("matrices");
    for (std::size_t v = 0; v < count; ++v) builder.add(support::unit_op("m" + std::to_string(v), 1e9, 1000));
    for (std::size_t v = 1; v < count; ++v) builder.add_edge(OpId(v - 1), OpId(v));
    return builder.build();
  }
  cost::Problem problem(const plan::Plan& plan) const { return {graph, cluster, costs, plan.training}; }
  trace::Trace run(plan::Plan& plan) const {
    score::derive_in_flight(problem(plan), plan);
    REQUIRE(score::violations(problem(plan), plan).empty());
    return sim::simulate(problem(plan), score::scheduled(problem(plan), plan));
  }
  graph::OpGraph graph;
  cluster::Cluster cluster;
  support::FixedCosts costs;
};

plan::Stage stage(std::size_t first, std::size_t last, std::vector<std::size_t> devices, int tensor_parallel,
                  std::int64_t micro_batch) {
  plan::Stage out;
  for (std::size_t v = first; v <= last; ++v) out.operators.emplace_back(v);
  for (const std::size_t d : devices) out.devices.emplace_back(d);
  out.tensor_parallel = tensor_parallel;
  out.micro_batch = micro_batch;
  return out;
}

plan::Plan plan_of(std::int64_t mini_batch, std::vector<plan::Stage> stages) {
  plan::Plan out;
  out.training.mini_batch = mini_batch;
  out.stages = std::move(stages);
  return out;
}

double seconds(core::Picoseconds time) {
  return core::to_seconds(time).value();
}

/// One second forward; backward two on a device of type `a`, one and three by turns on one of type `b`.
class ByTurns final : public cost::CostModel {
 public:
  cost::OpTime op_time(const graph::OpGraph&, OpId op, const cluster::DeviceType& device,
                       std::int64_t samples) const override {
    const double backward = device.name == "a" ? 2 : op.index() % 2 == 0 ? 1 : 3;
    const auto n = static_cast<double>(samples);
    return {core::Seconds(n), core::Seconds(backward * n), core::Seconds(0)};
  }
};

/// One second per pass, none of operator 1.
class AllButOne final : public cost::CostModel {
 public:
  cost::OpTime op_time(const graph::OpGraph&, OpId op, const cluster::DeviceType&,
                       std::int64_t samples) const override {
    const core::Seconds time(op.index() == 1 ? 0.0 : static_cast<double>(samples));
    return {time, time, time};
  }
};

std::vector<std::string> verified(const cost::Problem& problem, plan::Plan& plan,
                                  const sim::SimulationOptions& options) {
  score::derive_in_flight(problem, plan);
  const auto order = score::order_of(problem, plan);
  return check::trace_violations(problem, {problem.graph, plan, order},
                                 sim::simulate(problem, {problem.graph, plan, order}, options), options);
}

}  // namespace

TEST_CASE("a group of two halves the work and waits for its all-reduces") {
  const MatrixProblem m(3, 2);
  auto plan = plan_of(4, {stage(0, 2, {0, 1}, 2, 2)});
  const auto trace = m.run(plan);
  // Two micro-batches of two samples: 3 operators x 2 samples x 3 s / 2 = 9 s each. Partial sums of the
  // second matrix forward and of the third one's input backward. They are 2 kB around a ring of two in two
  // steps of 1 kB at 1 GB/s, 2 us each.
  const double collectives = 2 * 2 * 2e-6,
               step = m.problem(plan)
                          .costs
                          .step_time(Bytes(6000), plan::Training{.optimizer = plan::Optimizer::sgd},
                                     m.cluster.type(DeviceId(0)))
                          .value();
  CHECK(seconds(trace.iteration) == support::near(18 + collectives + step, 1e-12));
  const auto summary = trace::summarise(trace);
  CHECK(summary.devices[1].exposed_communication.value() == support::near(collectives));
  CHECK(summary.devices[1].busy.value() == support::near(18 + step));
  CHECK(std::count_if(trace.spans.begin(), trace.spans.end(),
                      [](const auto& s) { return s.kind == TaskKind::all_reduce; }) == 0);
  // A device keeps half of 12 kB of weights.
  CHECK(at(summary.devices[0].at_peak, plan::MemoryKind::weights) == Bytes(6000));
}

TEST_CASE("messages between groups travel in parts, from all to all") {
  const MatrixProblem m(3, 3);
  auto plan = plan_of(1, {stage(0, 1, {0, 1}, 2, 1), stage(2, 2, {2}, 1, 1)});
  const auto trace = m.run(plan);
  std::vector<std::pair<DeviceId, DeviceId>> ways;
  for (const auto& span : trace.spans)
    if (span.kind == TaskKind::transfer) {
      ways.emplace_back(span.device, span.peer);
      CHECK(span.bytes == Bytes(500));
    }
  std::sort(ways.begin(), ways.end());
  const DeviceId a(0), b(1), c(2);
  CHECK(ways == std::vector<std::pair<DeviceId, DeviceId>>{{a, c}, {b, c}, {c, a}, {c, b}});
  // Forward: two matrices on two devices 1 s, all-reduce of 1 kB 1 us, both parts over the one cable of
  // device 2: 1 us. There 1 + 2 s. Back: 1 us, gathered 0.5 us, 2 s.
  const auto last = std::find_if(trace.spans.begin(), trace.spans.end(), [](const auto& s) {
    return s.kind == TaskKind::backward && s.stage.index() == 0;
  });
  CHECK(seconds(last->end) == support::near(6 + 3.5e-6, 1e-12));
  CHECK(seconds(last->collective) == support::near(0.5e-6));
}

TEST_CASE("compression shortens messages between stages and all-reduces, not those within a group") {
  const MatrixProblem m(2, 2);
  auto plan = plan_of(2, {stage(0, 0, {0}, 1, 2), stage(1, 1, {1}, 1, 2)});
  plan.training.compression.activations = 0.25;
  for (const auto& span : m.run(plan).spans)
    if (span.kind == TaskKind::transfer) CHECK(span.bytes == Bytes(500));  // of 2 kB
  auto replicas = plan_of(2, {stage(0, 1, {0, 1}, 1, 2)});
  replicas.training.compression.gradients = 0.5;
  const auto trace = m.run(replicas);
  const auto reduced = std::find_if(trace.spans.begin(), trace.spans.end(),
                                    [](const auto& s) { return s.kind == TaskKind::all_reduce; });
  CHECK(reduced->bytes == Bytes(4000));  // of 8 kB
}

TEST_CASE("compressed gradients do not compress the weights that ZeRO gathers") {
  const MatrixProblem m(1, 2);
  for (const auto& [zero, bytes] : {std::pair{0, 1000}, {1, 2500}, {2, 4000}}) {  // of 4 kB, at a quarter
    auto plan = plan_of(2, {stage(0, 0, {0, 1}, 1, 2)});
    plan.training.compression.gradients = 0.25;
    plan.stages[0].zero = zero;
    const auto trace = m.run(plan);
    const auto reduced = std::find_if(trace.spans.begin(), trace.spans.end(),
                                      [](const auto& s) { return s.kind == TaskKind::all_reduce; });
    CHECK(reduced->bytes == Bytes(bytes));
    const auto estimate = score::estimate(m.problem(plan), plan, plan::StageGraph(m.graph, plan));
    CHECK(estimate.stages[0].reduce * 2 == support::near(seconds(reduced->end - reduced->start)));
  }
}

TEST_CASE("ZeRO 3 gathers weights in every pass and reduces nothing afterwards; the step is a share") {
  const MatrixProblem m(2, 4);
  auto plan = plan_of(8, {stage(0, 1, {0, 1, 2, 3}, 1, 4)});
  plan.stages[0].zero = 3;
  const auto trace = m.run(plan);
  // Per micro-batch and device one sample: 2 x 3 s. Per operator 4 kB in three steps of 1 kB, 3 us: weights
  // forward and backward, gradients backward.
  const double pass = 6 + 2 * 3 * 3e-6;
  const double step = m.problem(plan)
                          .costs
                          .step_time(Bytes(2000), plan::Training{.optimizer = plan::Optimizer::sgd},
                                     m.cluster.type(DeviceId(0)))
                          .value();
  CHECK(seconds(trace.iteration) == support::near(2 * pass + step, 1e-12));
  CHECK(at(trace::summarise(trace).devices[0].at_peak, plan::MemoryKind::weights) == Bytes(2000));
}

TEST_CASE("the estimate of one sharded stage equals the simulation, except for the update") {
  const MatrixProblem m(4, 4);
  for (const int group : {1, 2, 4})
    for (const int zero : {0, 1, 2, 3}) {
      auto plan = plan_of(8, {stage(0, 3, {0, 1, 2, 3}, group, 8)});
      plan.stages[0].zero = zero;
      const auto trace = m.run(plan);
      double step = 0;
      for (const auto& span : trace.spans)
        if (span.kind == TaskKind::step) step = seconds(span.end - span.start);
      const auto estimate = score::estimate(m.problem(plan), plan, plan::StageGraph(m.graph, plan));
      CHECK(estimate.iteration.value() == support::near(seconds(trace.iteration) - step, 1e-9));
    }
}

TEST_CASE("a group whose devices jitter waits between pairs of overlapped passes, not within") {
  const MatrixProblem m(4, 4);
  auto plan = plan_of(8, {stage(0, 0, {0, 1}, 2, 1), stage(1, 1, {2, 3}, 2, 1), stage(2, 2, {2, 3}, 2, 1),
                          stage(3, 3, {0, 1}, 2, 1)});
  plan.schedule = "dualpipev";
  const auto perturbation =
      sim::parse_perturbation("jitter: {forward: {lognormal: 20%}}", "i.yaml", m.cluster);
  sim::SimulationOptions options;
  options.perturbation = &perturbation;
  CHECK(verified(m.problem(plan), plan, options) == std::vector<std::string>{});
}

TEST_CASE("at every bucket of a last backward pass a group waits for its slowest device") {
  const MatrixProblem m(2, 4);
  auto types = std::vector(2, m.cluster.types().front());
  types[0].name = "a", types[1].name = "b";
  std::vector<cluster::Device> devices(4);
  devices[1].type = devices[3].type = 1;
  const cluster::Cluster cluster("two types", types, devices, 1, m.cluster.links());
  const ByTurns costs;
  auto plan = plan_of(2, {stage(0, 1, {0, 1, 2, 3}, 2, 2)});
  cost::Problem problem{m.graph, cluster, costs, plan.training};
  problem.training.bucket = Bytes(4000);
  REQUIRE(verified(problem, plan, {}) == std::vector<std::string>{});
  // One sample each, halved: max(2, 3) / 2 of the second matrix, then max(2, 1) / 2 of the first; together
  // max(4, 4) / 2.
  for (const std::int64_t bucket : {4000, 8000}) {
    problem.training.bucket = Bytes(bucket);
    const auto trace = sim::simulate(problem, score::scheduled(problem, plan), {});
    const auto last = std::find_if(trace.spans.begin(), trace.spans.end(),
                                   [](const auto& span) { return span.kind == TaskKind::backward; });
    CHECK(seconds(last->end - last->start - last->collective) ==
          support::near(bucket == 4000 ? 2.5 : 2, 1e-5));
  }
}

TEST_CASE("a pass that is cut at its buckets is one span, though passes of no length start with it") {
  const MatrixProblem m(5, 3);
  const AllButOne costs;
  auto plan = plan_of(8, {stage(0, 0, {0}, 1, 2), stage(1, 1, {1, 2}, 1, 2), stage(2, 3, {1, 2}, 1, 2),
                          stage(4, 4, {0}, 1, 2)});
  plan.schedule = "dualpipev";
  plan.stages[1].recompute = plan::kRecomputeStage;
  plan.training.bucket = Bytes(4000);
  CHECK(verified({m.graph, m.cluster, costs, plan.training}, plan, {}) == std::vector<std::string>{});
}
