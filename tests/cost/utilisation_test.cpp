#include "penstock/cost/utilisation.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "penstock/graph/graph_builder.hpp"
#include "support/random_problem.hpp"

using namespace penstock;

namespace {

graph::OpGraph one_product(int element_bytes) {
  graph::GraphBuilder builder("one", element_bytes);
  graph::Operator op;
  op.name = "a";
  op.kind = graph::OpKind::linear;
  op.forward_flops = op.input_gradient_flops = op.weight_gradient_flops = core::Flops(1e9);
  builder.add(op);
  return builder.build();
}

}  // namespace

TEST_CASE(
    "utilisation is forward and backward work against the peak of all devices, in the graph's precision") {
  const auto small = support::tiny_cluster(2);
  cluster::DeviceType type = small.types().front();
  type.peak = {core::FlopRate(10e12), core::FlopRate(0), core::FlopRate(0), core::FlopRate(40e12)};
  const cluster::Cluster cluster("two", {type}, small.devices(), 1, small.links(), small.points());
  const auto wide = cost::utilisation(one_product(4), cluster, 1000);  // 3e9 FLOP x 1000 / s
  CHECK(wide.flops_per_device == 1.5e12);
  CHECK(std::abs(wide.mfu / (3e12 / 20e12) - 1) < 1e-12);
  const auto narrow = cost::utilisation(one_product(2), cluster, 1000);
  CHECK(narrow.flops_per_device == 1.5e12);
  CHECK(std::abs(narrow.mfu / (3e12 / 80e12) - 1) < 1e-12);  // no bf16: fp16
}

TEST_CASE("peaks of different devices add up; without a stated peak there is no utilisation") {
  const auto small = support::tiny_cluster(2);
  cluster::DeviceType fast = small.types().front(), slow = fast, unknown = fast;
  fast.peak = {core::FlopRate(10e12)}, slow.peak = {core::FlopRate(2e12)}, unknown.peak = {};
  auto devices = small.devices();
  devices[1].type = 1;
  const auto with = [&](const cluster::DeviceType& other) {
    return cost::utilisation(one_product(4),
                             {"two", {fast, other}, devices, 1, small.links(), small.points()}, 1);
  };
  CHECK(std::abs(with(slow).mfu / (3e9 / 12e12) - 1) < 1e-12);
  const cluster::Cluster none("none", {unknown}, small.devices(), 1, small.links(), small.points());
  CHECK(cost::utilisation(one_product(4), none, 1).mfu == 0);
}
