// Compute slows down while its device communicates.

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/check/trace_violations.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/buckets.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/perturbation.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::DeviceId;
using core::OpId;

namespace {

/// A copy of the cluster whose devices compute `factor` times as long while they communicate.
cluster::Cluster slowed(const cluster::Cluster& cluster, std::size_t switches, double factor) {
  auto types = cluster.types();
  for (auto& type : types) type.overlap_slowdown = factor;
  return cluster::Cluster(cluster.name(), types, cluster.devices(), switches, cluster.links());
}

/// gpipe on two stages, two micro-batches of 1 s passes, 1 kB over cables of 1 kB/s.
trace::Trace two_stages(double factor, const std::string& yaml = "") {
  const auto graph = support::tiny_graph(2, {{0, 1}});
  const auto cluster = slowed(support::tiny_cluster(2, 1 << 30, 1000), 1, factor);
  const auto costs = support::FixedCosts::uniform(2, 1, 1);
  plan::Plan plan;
  plan.schedule = "gpipe";
  plan.training.mini_batch = 2;
  plan.stages = {{{OpId(0)}, {DeviceId(0)}, 1, 1, 2, {}}, {{OpId(1)}, {DeviceId(1)}, 1, 1, 2, {}}};
  const cost::Problem problem{graph, cluster, costs, plan.training};
  sim::SimulationOptions options;
  const auto perturbation = sim::parse_perturbation(yaml.empty() ? "{}" : yaml, "i.yaml", cluster);
  if (!yaml.empty()) options.perturbation = &perturbation;
  const auto trace = sim::simulate(problem, {problem.graph, plan}, options);
  if (yaml.empty())
    for (const auto& violation : check::trace_violations(problem, {problem.graph, plan}, trace))
      FAIL_CHECK(violation);
  return trace;
}

double end_of(const trace::Trace& trace, std::size_t device, std::int32_t micro_batch, trace::TaskKind kind) {
  for (const auto& span : trace.spans)
    if (span.device == DeviceId(device) && span.micro_batch == micro_batch && span.kind == kind)
      return to_seconds(span.end).value();
  return -1;
}

constexpr auto kForward = trace::TaskKind::forward;

}  // namespace

TEST_CASE("twice as slow while a tensor is sent or received") {
  // F0 0-1, sent 1-2. F1 on device 0 from 1 at half speed: half done at 2, ends at 2.5. Sent 2.5-3.5. Device
  // 1 runs F0 from 2: half done at 2.5, then at half speed while the second tensor arrives, until 3.5.
  const auto trace = two_stages(2);
  CHECK(end_of(trace, 0, 0, kForward) == support::near(1));
  CHECK(end_of(trace, 0, 1, kForward) == support::near(2.5));
  CHECK(end_of(trace, 1, 0, kForward) == support::near(3.5));
  CHECK(end_of(trace, 1, 1, kForward) == support::near(4.5));
}

TEST_CASE("a factor of one changes nothing") {
  const auto plain = two_stages(1);
  CHECK(end_of(plain, 0, 1, kForward) == support::near(2));
  CHECK(end_of(plain, 1, 0, kForward) == support::near(3));
}

TEST_CASE("overlap and a straggler multiply") {
  // Device 0 at half speed throughout: F0 0-2, sent 2-3; F1 from 2 at a quarter: 0.25 done at 3, the rest
  // takes 1.5 s.
  const auto trace = two_stages(2, "stragglers: [{device: 0, from: 0s, to: 100s, speed: 0.5}]");
  CHECK(end_of(trace, 0, 0, kForward) == support::near(2));
  CHECK(end_of(trace, 0, 1, kForward) == support::near(4.5));
}

TEST_CASE("a backward pass slows down while its first gradients are reduced") {
  // Two replicas, two operators: backward 2 s. The bucket of the second operator is ready after 1 s and
  // reduced in 1 s. Meanwhile the other half of the pass does half of its work. It ends at F 2 + 1 + 1 +
  // 0.5, its bucket 1 s later.
  graph::GraphBuilder builder("row");
  builder.add(support::unit_op("a", 1e9, 250));
  builder.add(support::unit_op("b", 1e9, 250));
  builder.add_edge(OpId(0), OpId(1));
  const auto graph = builder.build();
  const auto cluster = slowed(support::tiny_cluster(2, 1 << 30, 1000), 1, 2);
  const auto costs = support::FixedCosts::uniform(2, 1, 1);
  plan::Plan plan;
  plan.training.mini_batch = 2;
  plan.training.bucket = core::Bytes(1);
  plan.stages = {{{OpId(0), OpId(1)}, {DeviceId(0), DeviceId(1)}, 2, 1, 2, {}}};
  const cost::Problem problem{graph, cluster, costs, plan.training};
  for (const auto collective : {sim::collective("closed_form"), sim::collective("ring")}) {
    const auto time =
        sim::simulate_time(problem, {problem.graph, plan}, {sim::NetworkModel::fair, collective});
    CHECK(to_seconds(time).value() == support::near(5.5));
  }
}

TEST_CASE("a bucket is filled by gradients as they are held: of fp32 beside bf16 weights, by half as many") {
  const auto graph = models::build("transformer", {{"layers", "8"}, {"element_bytes", "2"}});
  const auto cluster = support::tiny_cluster(1);
  const cost::AnalyticCosts costs;
  plan::Stage stage;
  stage.devices = {DeviceId(0), DeviceId(1)};
  for (std::size_t i = 0; i < graph.size(); ++i) stage.operators.emplace_back(i);
  const auto count = [&](const char* precision) {
    cost::Problem problem{graph, cluster, costs, {8}};
    problem.training.precision = plan::mixed_precision(precision);
    problem.training.bucket = core::Bytes(1 << 24);
    const auto cut = cost::buckets(problem, stage);
    core::Bytes all;
    for (const auto& bucket : cut) all += bucket.gradients;
    CHECK(all.value() == graph.parameters() * (std::string(precision) == "bf16" ? 2 : 4));
    return cut.size();
  };
  CHECK(count("mixed_bf16") > count("bf16"));
}
