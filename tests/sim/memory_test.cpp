// Memory of stages that share a device.

#include <doctest/doctest.h>

#include "penstock/schedule/in_flight.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/fixed_costs.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::DeviceId;
using core::OpId;
using plan::MemoryKind;

namespace {

/// a -> b -> c -> d with 400 bytes of weights each; b makes 4 kB, the others 1 kB.
graph::OpGraph chain() {
  graph::GraphBuilder builder("chain");
  OpId before;
  for (const char* name : {"a", "b", "c", "d"}) {
    graph::Operator op = support::unit_op(name, 1e9, 100);
    if (op.name == "b") op.output_bytes = Bytes(4000);
    const OpId id = builder.add(op);
    if (op.name != "a") builder.add_edge(before, id);
    before = id;
  }
  return builder.build();
}

}  // namespace

TEST_CASE("stages of one device share the larger workspace; their weights add up") {
  const auto graph = chain();
  plan::Plan p;
  p.training.mini_batch = 4;
  p.schedule = "interleaved_1f1b";
  for (std::size_t s = 0; s < 4; ++s) p.stages.push_back({{OpId(s)}, {DeviceId(s % 2)}, 1, 1, 0, {}});
  schedule::derive_in_flight(p, plan::StageGraph(graph, p));
  const auto costs = support::FixedCosts::uniform(4, 1, 2);
  const auto cluster = support::tiny_cluster(2);
  const cost::Problem problem{graph, cluster, costs, p.training};
  const auto trace = sim::simulate(problem, {problem.graph, p}, {});
  const auto held = [&](std::size_t device, MemoryKind kind) {
    return at(trace.devices[device].fixed, kind);
  };
  for (const std::size_t device : {0, 1}) CHECK(held(device, MemoryKind::weights) == Bytes(800));
  // The gradient of its weights is new to a, 400; c has that of b's 4,000 at the same time.
  CHECK(held(0, MemoryKind::workspace) == Bytes(4400));
  // b: a's 1,000 and 400. d: the loss's 1,000, c's 1,000 and 400.
  CHECK(held(1, MemoryKind::workspace) == Bytes(2400));
}
