// Mixtures of experts as products: one by one by hand, in every source of times.

#include "penstock/layout/experts.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "models/layers.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/calibrated.hpp"
#include "penstock/cost/host.hpp"
#include "penstock/cost/kernel_tables.hpp"
#include "penstock/cost/op_shard.hpp"
#include "penstock/cost/sharding.hpp"
#include "src/cost/group_collectives.hpp"
#include "support/near.hpp"
#include "support/small_calibration.hpp"
#include "support/small_mixture.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using support::near;

namespace {

constexpr double kRate = 1e12, kMemory = 8e11;
const cluster::DeviceType kDevice{
    "v100", core::Bytes(1 << 30), core::Bandwidth(kMemory), {core::FlopRate(kRate)}, 1, core::Seconds(1e-6)};

/// 64 rows of 128 numbers; 4 experts, 256 wide, of which each row takes 2; two-byte numbers.
graph::OpGraph mixture(models::ExpertForm form = {.chosen = 2, .inner = 256}) {
  models::Layers net("mixture", 2);
  const auto x = net.linear("x", net.input("input", {64, 128}), 128);
  net.experts("experts", x, net.softmax("scores", net.linear("router", x, 4)), form);
  return net.build();
}

core::OpId last(const graph::OpGraph& graph) {
  return core::OpId(graph.size() - 1);
}

/// Kernel tables of a device that multiplies as fast whatever the shape.
cost::TableCosts tables() {
  std::vector<cost::ProductTime> products;
  for (const std::int64_t m : {8, 4096})
    for (const std::int64_t n : {32, 512})
      for (const std::int64_t k : {32, 512})
        products.push_back({m, n, k, 2 * static_cast<double>(m * n * k) / kRate});
  return {"NVIDIA V100", products, {}, cost::StreamingTime{core::Bandwidth(kMemory), core::Seconds(1e-6)}};
}

}  // namespace

TEST_CASE("every expert has its products of the rows that it gets, and rows are copied there and back") {
  const auto graph = mixture();
  const auto time = tables().op_time(graph, last(graph), kDevice, 1);
  // 128 copies of rows, 32 an expert; gate and up 128 -> 512, down 256 -> 128.
  const double products = 4 * 2.0 * 32 * (128 * 512 + 256 * 128) / kRate;
  // Dispatch and combine read or write 64 rows and 128 copies each; the activation 512 + 256 of every copy,
  // its gradient twice as many. Four kernels.
  const double rows = 2 * 2 * (64 + 128) * 128, between = 2 * 128 * (512 + 256);
  CHECK(time.forward.value() == near(products + 4e-6 + (rows + between) / kMemory));
  CHECK(time.input_gradient.value() == near(products + 4e-6 + (rows + 2 * between) / kMemory));
  CHECK(time.weight_gradient.value() == near(products));
}

TEST_CASE("biases and clamps run kernel by kernel beside the products") {
  const auto plain = mixture(), biased = mixture({.chosen = 2, .inner = 256, .bias = true}),
             clamped = mixture({.chosen = 2, .inner = 256, .clamped = true});
  const auto beyond = [&](const graph::OpGraph& graph) {
    const auto with = tables().op_time(graph, last(graph), kDevice, 1),
               without = tables().op_time(plain, last(plain), kDevice, 1);
    CHECK(with.weight_gradient == without.weight_gradient);
    return std::pair{(with.forward - without.forward).value(),
                     (with.input_gradient - without.input_gradient).value()};
  };
  // 128 copies, 128 numbers each: shares times bias written, that and the product read, the sum written, read
  // and written side by side. Back: what the two products write is written and read, their inputs are read,
  // gradients are read and written side by side. Two kernels of each expert, four back, and one.
  const auto [bias, bias_back] = beyond(biased);
  CHECK(bias == near(9e-6 + 2 * 128 * 128 * 6 / kMemory));
  CHECK(bias_back == near(17e-6 + 2 * 128 * 128 * 8 / kMemory));
  // 512 numbers of each copy: read and written clamped, and once more side by side. Back: gradient and mask
  // read, gradient written, read and written side by side. Gate, up, and both.
  const auto [clamp, clamp_back] = beyond(clamped);
  CHECK(clamp == near(3e-6 + 2 * 128 * 512 * 4 / kMemory));
  CHECK(clamp_back == near(3e-6 + 2 * 128 * 512 * 5 / kMemory));
  const auto few = cost::launches(plain, last(plain), 4), more = cost::launches(biased, last(biased), 4);
  CHECK(more.forward == few.forward + 9);
  CHECK(more.input_gradient == few.input_gradient + 17);
}

TEST_CASE("where tables have grouped products, experts take their rates, and dense layers do not") {
  const auto graph = mixture();
  const cost::TableCosts plain = tables();
  std::vector<cost::ProductTime> grouped = plain.products();
  for (cost::ProductTime& p : grouped)
    p.seconds *= p.m == 8 ? 2 : 4;  // of 8 rows twice as long, of 4096 four times
  const cost::TableCosts costs(plain.device(), plain.products(), {}, plain.streaming(), {}, grouped);
  const double products = 4 * 2.0 * 32 * (128 * 512 + 256 * 128) / kRate;  // as above
  const auto before = plain.op_time(graph, last(graph), kDevice, 1),
             after = costs.op_time(graph, last(graph), kDevice, 1);
  // Between 8 and 4096 rows, 9 doublings, one more halving of the rate: at 32, 2 doublings on, 2^(1 + 2/9).
  CHECK((after.forward - before.forward).value() == near(products * (std::pow(2, 1 + 2.0 / 9) - 1)));
  // Weights' gradients have 128 and 256 rows of products, 4 and 5 doublings on.
  const double first = 4 * 2.0 * 32 * 128 * 512 / kRate, second = 4 * 2.0 * 32 * 256 * 128 / kRate;
  CHECK((after.weight_gradient - before.weight_gradient).value() ==
        near(first * (std::pow(2, 1 + 4.0 / 9) - 1) + second * (std::pow(2, 1 + 5.0 / 9) - 1)));
  for (std::size_t v = 0; v + 1 < graph.size(); ++v)
    CHECK(costs.op_time(graph, core::OpId(v), kDevice, 1).total() ==
          plain.op_time(graph, core::OpId(v), kDevice, 1).total());
  const auto again = cost::parse_kernel_tables(cost::to_yaml(costs), "t.yaml");
  CHECK(cost::to_yaml(again) == cost::to_yaml(costs));
  CHECK(again.op_time(graph, last(graph), kDevice, 1).forward.value() == near(after.forward.value(), 1e-5));
}

TEST_CASE("one device's half of every expert has half the products, and all of the copies") {
  const auto graph = mixture();
  const cost::OpShard half = cost::op_shard(graph.op(last(graph)), plan::Partition::column, 0.5);
  const auto time = tables().part_time(graph, last(graph), kDevice, 1, half);
  const double products = 4 * 2.0 * 32 * (128 * 256 + 128 * 128) / kRate;
  const double rows = 2 * 2 * (64 + 128) * 128, between = 2 * 128 * (256 + 128);
  CHECK(time.forward.value() == near(products + 4e-6 + (rows + between) / kMemory));
  CHECK(graph::as<graph::Experts>(graph.op(last(graph))).inner == 256);
  const auto attributes = cost::divided(graph.op(last(graph)), half);
  REQUIRE(attributes);
  CHECK(std::get<graph::Experts>(*attributes).inner == 128);
}

TEST_CASE("fewer copies than experts: those that get none run nothing") {
  // One row of two copies: two experts with a row each.
  models::Layers net("mixture", 2);
  const auto x = net.linear("x", net.input("input", {1, 128}), 128);
  net.experts("experts", x, net.softmax("scores", net.linear("router", x, 64)), {.chosen = 2, .inner = 32});
  const auto graph = net.build();
  const auto time = tables().op_time(graph, last(graph), kDevice, 1);
  CHECK(time.weight_gradient.value() == near(2 * 2.0 * (128 * 64 + 32 * 128) / kRate));
}

TEST_CASE("small experts are slower than one dense layer of their work") {
  const auto graph = mixture({.chosen = 2, .inner = 256, .gated = false});
  const cost::AnalyticCosts costs;
  models::Layers net("dense", 2);
  const auto x = net.linear("x", net.input("input", {128, 128}), 128);
  net.linear("back", net.linear("wide", x, 256), 128);
  const auto dense = net.build();
  const auto mixed = costs.op_time(graph, last(graph), kDevice, 1),
             first = costs.op_time(dense, core::OpId(2), kDevice, 1),
             second = costs.op_time(dense, core::OpId(3), kDevice, 1);
  CHECK(graph.op(last(graph)).forward_flops ==
        dense.op(core::OpId(2)).forward_flops + dense.op(core::OpId(3)).forward_flops);
  CHECK(mixed.forward > first.forward + second.forward);
  CHECK(mixed.weight_gradient > first.weight_gradient + second.weight_gradient);
}

TEST_CASE("a calibration without experts takes its dense layers") {
  // A dense layer of 32 rows in a second each way, of which only the work is read: 4 experts x 2 layers.
  const auto graph = mixture();
  cost::Calibration measured = support::bare_calibration();
  measured.leave_one_out = {{}};
  for (const auto& [in, out] : {std::pair<std::int64_t, std::int64_t>{128, 512}, {256, 128}}) {
    graph::Operator op;
    op.kind = graph::OpKind::linear;
    op.attributes = graph::Linear{32, in, out};
    cost::MeasuredKernel kernel{cost::key_of(op, cluster::Precision::bf16),
                                {{}, core::Bytes(2 * 32 * (in + out)), core::Bytes(2 * in * out)},
                                {}};
    kernel.work.flops.fill(core::Flops(2.0 * 32 * static_cast<double>(in * out)));
    for (const graph::Pass pass : graph::kAllPasses) kernel.points.push_back(support::cold_point(pass, 1, 1));
    measured.kernels.push_back(kernel);
  }
  const cost::CalibratedCosts costs(measured);
  const auto estimate = costs.estimate(graph, last(graph), kDevice, 1);
  for (const graph::Pass pass : graph::kAllPasses) CHECK(estimate[pass].time.value() == near(8, 1e-3));
}

TEST_CASE("the host launches the products of all experts together") {
  const auto graph = mixture();
  const auto count = cost::launches(graph, last(graph), 4);
  CHECK(count.forward == 4 + 2);
  CHECK(count.input_gradient == 4 + 2);
  CHECK(count.weight_gradient == 2);
}

namespace {

core::OpId experts_of(const graph::OpGraph& graph) {
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(core::OpId(v)).kind == graph::OpKind::experts) return core::OpId(v);
  FAIL("no experts");
  return core::OpId(0);
}

plan::Stage stage_on(const graph::OpGraph& graph, int devices, int context) {
  plan::Stage out;
  for (std::size_t v = 0; v < graph.size(); ++v) out.operators.emplace_back(v);
  for (int d = 0; d < devices; ++d) out.devices.emplace_back(static_cast<std::size_t>(d));
  out.micro_batch = devices;
  out.expert_parallel = 2;
  out.context_parallel = context;
  return out;
}

}  // namespace

TEST_CASE("going back the copies' gradients are there twice, and those of the first products") {
  const auto graph = support::small_mixture("1");
  const auto scratch = cost::AnalyticCosts().scratch(graph, experts_of(graph));
  // 16 tokens, two copies each, 32 wide; gate and up of 24 each.
  const core::Bytes rows(16 * 2 * 32 * 4);
  CHECK(scratch.input_gradient.each == rows * 2);
  CHECK(scratch.weight_gradient.each == rows);
  CHECK(scratch.handed.each == core::Bytes(16 * 2 * 2 * 24 * 4));
}

TEST_CASE("a context group's device trades the copies of its own tokens") {
  const auto graph = support::small_mixture("1");
  const auto cluster = support::tiny_cluster(4);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {8}};
  const auto traded = [&](int context) {
    const plan::Stage s = stage_on(graph, 4, context);
    const cost::LocalProblem local(problem, s);
    core::Bytes sum;
    for (const auto& c : cost::group_collectives(problem, local.get(), s, {}).forward)
      if (c.among == layout::GroupScope::experts) sum += c.bytes;
    return sum;
  };
  REQUIRE(traded(1) > core::Bytes(0));
  CHECK(traded(2) * 2 == traded(1));
}

TEST_CASE("buckets of a distributed optimizer: new weights of experts are gathered in their own groups") {
  const auto graph = support::small_mixture("1");
  const auto cluster = support::tiny_cluster(4);
  const cost::AnalyticCosts costs;
  const cost::Problem problem{graph, cluster, costs, {8}};
  plan::Stage s = stage_on(graph, 4, 1);
  s.zero = 1;
  const std::size_t half = s.operators.size() / 2;
  const cost::OperatorSets sets{
      {s.operators.begin(), s.operators.begin() + static_cast<std::ptrdiff_t>(half)},
      {s.operators.begin() + static_cast<std::ptrdiff_t>(half), s.operators.end()}};
  const auto last = cost::reductions(problem, s, sets).back();
  REQUIRE(last.size() >= 2);
  const core::Bytes mixture = graph.parameter_bytes(experts_of(graph)),
                    all(graph.parameters() * graph.element_bytes());
  const cost::GradientReduction &others = last[last.size() - 2], &experts = last.back();
  CHECK(others.all_gather);
  CHECK(others.bytes == all - mixture);
  CHECK(others.groups.front().size() == 4);
  CHECK(experts.all_gather);
  CHECK(experts.bytes * 2 == mixture);
  CHECK(experts.groups.front().size() == 2);
}

TEST_CASE("the fullest device's experts have their imbalance more rows, FLOPs and copies") {
  const auto graph = support::small_mixture("1");
  const auto& whole = graph.op(experts_of(graph));
  const auto part = layout::expert_shard(whole, 2, 1.5);
  CHECK(graph::as<graph::Experts>(part).experts == 4);
  CHECK(graph::as<graph::Experts>(part).rows == 24);  // of 16
  CHECK(part.forward_flops.value() == near(1.5 * whole.forward_flops.value()));
  CHECK(part.parameters * 2 == whole.parameters);
}
