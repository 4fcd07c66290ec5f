#include "penstock/cost/kernel_tables.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/cost/coverage.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/layout/context.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using cost::TableCosts;
using support::near;

namespace {

/// A device that multiplies 1e12 times a second whatever the shape, and needs a tenth of that for attention.
std::vector<cost::ProductTime> even_products() {
  std::vector<cost::ProductTime> out;
  for (const std::int64_t m : {8, 64, 4096})
    for (const std::int64_t n : {32, 128, 512})
      for (const std::int64_t k : {32, 128, 512})
        out.push_back({m, n, k, 2e-12 * static_cast<double>(m * n * k)});
  return out;
}

core::OpId named(const graph::OpGraph& graph, const std::string& name) {
  for (std::size_t i = 0; i < graph.size(); ++i)
    if (graph.op(core::OpId(i)).name == name) return core::OpId(i);
  FAIL("no operator " << name);
  return core::OpId(0);
}

const cluster::DeviceType kDevice{
    "v100", core::Bytes(1 << 30), core::Bandwidth(1e12), {core::FlopRate(1e12)}, 80, {}};

graph::OpGraph gpt(const std::string& attention, const std::string& element_bytes = "2") {
  return models::build("gpt", {{"layers", "1"},
                               {"hidden", "96"},
                               {"heads", "3"},
                               {"sequence", "48"},
                               {"attention", attention},
                               {"element_bytes", element_bytes}});
}

}  // namespace

TEST_CASE("between measured points rates follow powers, beyond them the nearest") {
  cost::RateGrid grid;
  // rate = row * column^2 * along^0.5 on a grid with a corner missing.
  const auto rate = [](double row, double column, double along) {
    return row * column * column * std::sqrt(along);
  };
  for (const double row : {2.0, 8.0, 32.0})
    for (const double column : {4.0, 16.0})
      for (const double along : {1.0, 10.0, 1000.0})
        if (row != 32 || column != 16) grid.add(row, column, along, rate(row, column, along));
  core::Random random(3);
  for (int i = 0; i < 100; ++i) {
    const double row = 2 + 6 * random.unit(), column = 4 + 12 * random.unit(),
                 along = 1 + 998 * random.unit();
    CHECK(grid.rate(row, column, along).value == near(rate(row, column, along)));
  }
  CHECK(grid.rate(1, 4, 10).value == near(rate(2, 4, 10)));
  CHECK(grid.rate(2, 64, 1e6).value == near(rate(2, 16, 1000)));
  CHECK(grid.rate(64, 64, 10).value ==
        near(rate(8, 16, 10)));  // the nearest: at (32, 16) nothing was measured
}

TEST_CASE("a rate is marked as measured, interpolated or extrapolated") {
  using cost::Origin;
  cost::RateGrid grid;
  for (const double row : {2.0, 8.0})
    for (const double column : {4.0, 16.0})
      for (const double along : {1.0, 10.0})
        if (row != 8 || column != 16) grid.add(row, column, along, row);
  const auto origin = [&](double row, double column, double along) {
    return grid.rate(row, column, along).origin;
  };
  CHECK(origin(2, 4, 10) == Origin::measured);
  CHECK(origin(8, 4, 3) == Origin::interpolated);
  CHECK(origin(2, 5, 10) == Origin::interpolated);
  CHECK(origin(4, 5, 3) == Origin::extrapolated);  // one of the four corners is missing
  CHECK(origin(8, 16, 10) == Origin::extrapolated);
  CHECK(origin(2, 4, 11) == Origin::extrapolated);
  CHECK(origin(1, 4, 10) == Origin::extrapolated);
  CHECK(origin(2, 17, 10) == Origin::extrapolated);
}

TEST_CASE("the slower of two measurements of one shape counts, in either order") {
  for (const bool first : {true, false}) {
    cost::RateGrid grid;
    grid.add(2, 4, 1, first ? 10 : 8);
    grid.add(2, 4, 1, first ? 8 : 10);
    CHECK(grid.rate(2, 4, 1).value == near(8));
  }
}

TEST_CASE("layers are products: every pass of a dense layer, also of its parts") {
  const TableCosts costs("NVIDIA V100", even_products(), {});
  const auto graph = gpt("plain");
  const auto dense = named(graph, "layer0.dense1");
  const auto time = costs.op_time(graph, dense, kDevice, 4);
  const double whole = 2e-12 * 4 * 48 * 96 * 384;
  CHECK(time.forward.value() == near(whole));
  CHECK(time.input_gradient.value() == near(whole));
  CHECK(time.weight_gradient.value() == near(whole));
  const auto part = costs.part_time(graph, dense, kDevice, 4, {plan::Partition::column, 0.5, true, false});
  CHECK(part.forward.value() == near(whole / 2));
  CHECK(part.total().value() == near(3 * whole / 2));
  const auto half = costs.part_time(graph, dense, kDevice, 4, {plan::Partition::batch, 0.5, false, false});
  CHECK(half.total().value() == near(3 * whole / 2));
  // Operators outside the tables: norms, and numbers of four bytes.
  const cost::AnalyticCosts analytic;
  const auto norm = named(graph, "layer0.norm1");
  CHECK(costs.op_time(graph, norm, kDevice, 4).forward == analytic.op_time(graph, norm, kDevice, 4).forward);
  const auto wide = gpt("plain", "4");
  CHECK(costs.op_time(wide, dense, kDevice, 4).forward == analytic.op_time(wide, dense, kDevice, 4).forward);
}

TEST_CASE("attention is two products around a core; a flash core goes back at 2.9 times its way") {
  const TableCosts costs("NVIDIA V100", even_products(), {{1, 48, 3, 32, 1e-5}, {8, 48, 3, 32, 8e-5}});
  const auto graph = gpt("flash");
  const auto attention = named(graph, "layer0.attention");
  const auto time = costs.op_time(graph, attention, kDevice, 4);
  const double products = 2e-12 * 4 * 48 * 96 * (3 * 96 + 96);
  CHECK(time.forward.value() == near(products + 4e-5));
  CHECK(time.input_gradient.value() == near(products + 4e-5 * 2.5 * 73 / 63));
  CHECK(time.weight_gradient.value() == near(products));
  const auto third =
      costs.part_time(graph, attention, kDevice, 4, {plan::Partition::column, 1.0 / 3, true, true});
  CHECK(third.forward.value() == near((products + 4e-5) / 3));
  // A plain core is two products of all heads at once and a softmax that reads and writes its scores.
  // Backward it is four products, and a softmax that reads two and writes one. One without scores has
  // neither.
  const auto plain = gpt("plain"), counted = gpt("fused");
  const cost::AnalyticCosts analytic;
  const auto core = analytic.core_time(plain, attention, kDevice, 4, {});
  const double inner = 2e-12 * 4 * 3 * 48 * 48 * 32, softmax = 4 * 3 * 48 * 48 * 2 / (1e12 * 0.83);
  const auto by_heads = costs.op_time(plain, attention, kDevice, 4);
  CHECK(by_heads.forward.value() == near(products + 2 * inner + 2 * softmax));
  CHECK(by_heads.input_gradient.value() == near(products + 4 * inner + 3 * softmax));
  CHECK(costs.core_forward(plain, attention, kDevice, 4, {}).value() == near(2 * inner + 2 * softmax));
  CHECK(costs.core_forward(graph, attention, kDevice, 4, {}).value() == near(4e-5));
  const double scores = 4 * 3 * 48 * 48, rate = 1e12 * 0.83;
  CHECK((core.forward - analytic.core_time(counted, attention, kDevice, 4, {}).forward).value() ==
        near(scores * 4 * 2 / rate));
  CHECK(
      (core.input_gradient - analytic.core_time(counted, attention, kDevice, 4, {}).input_gradient).value() ==
      near(scores * 7 * 2 / rate));
}

TEST_CASE("a context group's device takes its share of attention's products and pairs, from the tables") {
  std::vector<cost::AttentionTime> even;  // equally fast per FLOP for every sequence
  for (const std::int64_t sequence : {12, 48})
    for (const std::int64_t heads : {1, 64})
      even.push_back({1, sequence, heads, 32, 2e-12 * static_cast<double>(heads * sequence * sequence * 32)});
  const TableCosts costs("NVIDIA V100", even_products(), even);
  for (const char* core : {"flash", "plain"}) {
    CAPTURE(core);
    const auto whole = gpt(core), shard = layout::local_graph(whole, 4);
    const auto attention = named(whole, "layer0.attention");
    const auto all = costs.op_time(whole, attention, kDevice, 4),
               quarter = costs.op_time(shard, attention, kDevice, 4);
    CHECK(quarter.forward.value() == near(all.forward.value() / 4));
    CHECK(quarter.input_gradient.value() == near(all.input_gradient.value() / 4));
    CHECK(quarter.weight_gradient.value() == near(all.weight_gradient.value() / 4));
    CHECK(costs.core_forward(shard, attention, kDevice, 4, {}).value() ==
          near(costs.core_forward(whole, attention, kDevice, 4, {}).value() / 4));
    CHECK(costs.estimate(shard, attention, kDevice, 4, {}).origin() ==
          costs.estimate(whole, attention, kDevice, 4, {}).origin());
  }
}

TEST_CASE("a backward time that was measured counts, beside rows that have none") {
  const TableCosts costs("NVIDIA V100", even_products(), {{1, 48, 3, 32, 1e-5, 5e-5}, {8, 48, 3, 32, 8e-5}});
  const auto graph = gpt("flash");
  const double products = 2e-12 * 48 * 96 * (3 * 96 + 96);
  const auto on = [&](std::int64_t samples) {
    return costs.op_time(graph, named(graph, "layer0.attention"), kDevice, samples).input_gradient.value();
  };
  CHECK(on(1) == near(products + 5e-5));
  CHECK(on(8) == near(8 * products + 8e-5 * 2.5 * 73 / 63));
}

TEST_CASE("every pass has its origin: tables where they have the shape, else the analytic model") {
  using cost::Origin;
  const TableCosts costs("NVIDIA V100", even_products(), {{1, 48, 3, 32, 1e-5}, {8, 48, 3, 32, 8e-5}});
  const auto on = [&](const char* attention, const char* op) {
    const auto graph = gpt(attention);
    return costs.estimate(graph, named(graph, op), kDevice, 4).origin();
  };
  CHECK(on("flash", "layer0.dense1") == Origin::interpolated);
  CHECK(on("flash", "layer0.attention") == Origin::interpolated);
  CHECK(on("plain", "layer0.attention") == Origin::analytic);
  CHECK(on("flash", "layer0.norm1") == Origin::analytic);
  CHECK(costs.measured_device().name == "v100");
  CHECK_THROWS_WITH(TableCosts("TPU", even_products(), {}).measured_device(),
                    "tables of TPU: no built-in cluster has such a device");
}

TEST_CASE("kernels that only move bytes stream as they were measured to, where they were") {
  const TableCosts costs("NVIDIA V100", even_products(), {},
                         cost::Streaming{core::Bandwidth(1e9), core::Seconds(1e-3)});
  const auto graph = gpt("flash");
  const auto add = named(graph, "layer0.add1");
  // Two tensors of 48 x 96 numbers of two bytes read, one written, for each of 4 samples.
  CHECK(costs.op_time(graph, add, kDevice, 4).forward.value() == near(1e-3 + 4.0 * 3 * 48 * 96 * 2 / 1e9));
  const TableCosts again = cost::parse_kernel_tables(cost::to_yaml(costs), "t.yaml");
  REQUIRE(again.streaming());
  CHECK(again.streaming()->bandwidth.value() == near(1e9));
  CHECK(again.streaming()->latency.value() == near(1e-3));
}

TEST_CASE("tables are for the device they name, and read back as they were") {
  const TableCosts costs("NVIDIA V100-SXM2", even_products(), {{1, 48, 3, 32, 1e-5}});
  const std::string text = cost::to_yaml(costs);
  CHECK(cost::is_kernel_tables(text));
  const TableCosts again = cost::parse_kernel_tables(text, "t.yaml");
  CHECK(cost::to_yaml(again) == text);
  CHECK(again.source() == "kernel tables of NVIDIA V100-SXM2");
  const auto refused = [](const std::string& wrong) {
    CHECK_THROWS_AS(cost::parse_kernel_tables("penstock_kernel_tables: 1\ndevice: x\n" + wrong, "t.yaml"),
                    core::BadInput);
  };
  refused("products: |\n  1 2 3\n");
  refused("products: |\n  1 2 3 4\nall_reduce: |\n  1 2 3\n");
  refused("products: |\n  1 2 3 4\nall_gather: |\n  2 2 0\n");
  refused("products: |\n  1 2 3 4\nbroadcast: |\n  2 2 1\n");
  refused("products: |\n  1 2 0 4\n");
  refused("products: |\n  1 2 3 0\n");
  refused("products: |\n  1 2 3 4 5\n");
  refused("products: ''\n");
  refused("streaming: {bandwidth: 0GB/s, latency: 1us}\nproducts: |\n  1 2 3 4\n");
  refused("streaming: {bandwidth: 1GB/s}\nproducts: |\n  1 2 3 4\n");
  refused("product: |\n  1 2 3 4\n");
  refused("products: |\n  1 2 3 4\ngrouped: |\n  1 2 3 0\n");
  refused("products: |\n  1 2 3 4\ngrouped: ''\n");
  refused("attention: |\n  1 2 3 4 5\n");
}

TEST_CASE("measured collectives are read back, and a tensor-parallel stage waits for them") {
  using cluster::CollectiveKind;
  std::vector<cluster::CollectiveTime> rows;
  for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::all_to_all})
    rows.push_back({kind, 2, 1 << 30, 3});
  const TableCosts costs("NVIDIA V100-SXM2", even_products(), {}, {}, rows);
  const std::string text = cost::to_yaml(costs);
  const TableCosts again = cost::parse_kernel_tables(text, "t.yaml");
  CHECK(cost::to_yaml(again) == text);
  REQUIRE(again.collectives() != nullptr);
  CHECK(again.collectives()->rows().size() == 3);

  const auto graph = gpt("plain");
  const auto bare = support::tiny_cluster(2);
  const auto cluster = cost::measured_by(again, bare);
  plan::Plan plan;
  plan.training.mini_batch = 2;
  plan::Stage& stage = plan.stages.emplace_back();
  for (std::size_t i = 0; i < graph.size(); ++i) stage.operators.emplace_back(i);
  stage.devices = {core::DeviceId(0), core::DeviceId(1)};
  stage.tensor_parallel = 2;
  const auto count = [&](const auto& list) { return static_cast<double>(list.size()); };
  const auto asked = layout::infer(graph, stage).collectives;
  const auto time = cost::stage_time({graph, cluster, again, plan.training}, stage, 1).collectives;
  CHECK(count(asked.forward) > 0);
  CHECK(time.forward.value() == near(3 * count(asked.forward)));
  CHECK(time.input_gradient.value() == near(3 * count(asked.backward)));
  const auto coverage = cost::collective_coverage({graph, cluster, again, plan.training}, plan);
  // Two micro-batches, two devices; smaller than what was measured.
  CHECK(coverage.seconds[static_cast<std::size_t>(cost::Origin::extrapolated)] ==
        near(2 * 2 * 3 * (count(asked.forward) + count(asked.backward))));
  CHECK(cost::collective_coverage({graph, bare, again, plan.training}, plan)
            .time_share(cost::Origin::analytic) == 1);
}

namespace {

/// Products of a device whose rate is 1e9 FLOP/s for each column that it makes: 2 m n k / (1e9 n) seconds.
std::vector<cost::ProductTime> by_columns() {
  std::vector<cost::ProductTime> out;
  for (const std::int64_t m : {1, 1 << 20})
    for (const std::int64_t n : {1, 1 << 12})
      for (const std::int64_t k : {1, 1 << 20}) out.push_back({m, n, k, 2e-9 * static_cast<double>(m * k)});
  return out;
}

/// An operator after an input, in bf16.
graph::OpGraph lone(graph::OpKind kind, const graph::Attributes& attributes, std::int64_t parameters = 1000) {
  graph::GraphBuilder b("lone", 2);
  graph::Operator x, y;
  x.name = "x";
  x.output_bytes = core::Bytes(64);
  y.name = "y";
  y.kind = kind;
  y.attributes = attributes;
  y.parameters = parameters;
  y.frozen_parameters = parameters == 0 ? 1000 : 0;
  y.forward_flops = y.input_gradient_flops = core::Flops(1e3);
  if (parameters > 0) y.weight_gradient_flops = core::Flops(1e3);
  y.output_bytes = core::Bytes(64);
  b.add(y, {b.add(x)});
  return b.build();
}

}  // namespace

TEST_CASE("a column's products have part of the outputs, a row's part of the inputs") {
  const TableCosts costs("NVIDIA V100", by_columns(), {});
  const auto graph = lone(graph::OpKind::linear, graph::Linear{.rows = 4, .in = 64, .out = 256});
  const auto time = [&](plan::Partition how) {
    return costs.part_time(graph, core::OpId(1), kDevice, 2, {how, 0.5});
  };
  // Eight rows. Forward makes `out` columns of sums over `in`, the inputs' gradient `in` of sums over `out`,
  // that of weights `out` columns of `in` rows, of sums over eight.
  const auto column = time(plan::Partition::column);
  CHECK(column.forward.value() == near(2e-9 * 8 * 64));
  CHECK(column.input_gradient.value() == near(2e-9 * 8 * 128));
  CHECK(column.weight_gradient.value() == near(2e-9 * 64 * 8));
  const auto row = time(plan::Partition::row);
  CHECK(row.forward.value() == near(2e-9 * 8 * 32));
  CHECK(row.input_gradient.value() == near(2e-9 * 8 * 256));
  CHECK(row.weight_gradient.value() == near(2e-9 * 32 * 8));
}

TEST_CASE("frozen layers have no products for gradients of weights") {
  const TableCosts costs("NVIDIA V100", by_columns(), {});
  const auto graph = lone(graph::OpKind::linear, graph::Linear{.rows = 4, .in = 64, .out = 256}, 0);
  const auto time = costs.op_time(graph, core::OpId(1), kDevice, 2);
  CHECK(time.input_gradient.value() == near(2e-9 * 8 * 256));
  CHECK(time.weight_gradient.value() == 0);
}

TEST_CASE("an optimizer's step streams weights, gradients and state") {
  const TableCosts costs("NVIDIA V100", even_products(), {},
                         cost::Streaming{core::Bandwidth(1e9), core::Seconds(2e-6)});
  const auto step = [&](plan::Optimizer optimizer) {
    return costs.step_time(core::Bytes(1000), {8, optimizer}, kDevice).value();
  };
  // Weights read and written, the gradient read; two moments of Adam's read and written, one of momentum's.
  CHECK(step(plan::Optimizer::sgd) == near(2e-6 + 3e-6));
  CHECK(step(plan::Optimizer::momentum) == near(2e-6 + 5e-6));
  CHECK(step(plan::Optimizer::adam) == near(2e-6 + 7e-6));
}

TEST_CASE("latent attention projects queries from their own width") {
  const TableCosts costs("NVIDIA V100", by_columns(), {});
  const auto forward = [&](std::int64_t query_width) {
    const auto graph = lone(graph::OpKind::attention, graph::Attention{.queries = 8,
                                                                       .keys = 8,
                                                                       .hidden = 256,
                                                                       .heads = 4,
                                                                       .key_width = 64,
                                                                       .value_width = 64,
                                                                       .inner = 96,
                                                                       .query_width = query_width,
                                                                       .value_head = 16,
                                                                       .rotary_width = 8});
    return costs.op_time(graph, core::OpId(1), kDevice, 1).forward.value();
  };
  // 8 tokens' sums over 64 numbers instead of 32, and over all 256 where queries have no width of their own.
  CHECK(forward(64) - forward(32) == near(2e-9 * 8 * 32, 1e-6));
  CHECK(forward(0) - forward(32) == near(2e-9 * 8 * 224, 1e-6));
}

TEST_CASE("queries and keys are turned beside the tables' products, forward and back") {
  const TableCosts costs("NVIDIA V100", even_products(), {});
  graph::Attention a{
      .queries = 48, .keys = 48, .hidden = 96, .heads = 3, .core = graph::AttentionCore::flash};
  const auto bare = lone(graph::OpKind::attention, a);
  a.rotary = true;
  const auto turned = lone(graph::OpKind::attention, a);
  const auto with = costs.op_time(turned, core::OpId(1), kDevice, 4),
             without = costs.op_time(bare, core::OpId(1), kDevice, 4);
  // 48 x 96 queries and as many keys of four samples, two bytes each, read and written at 0.83 TB/s.
  const double once = 2.0 * 2 * 48 * 96 * 2 * 4 / 0.83e12;
  CHECK((with.forward - without.forward).value() == near(once, 1e-6));
  CHECK((with.input_gradient - without.input_gradient).value() == near(once, 1e-6));
}

TEST_CASE("a flash core's head is as wide as its keys and values in the mean") {
  std::vector<cost::AttentionTime> attention;
  for (const std::int64_t size : {8, 64})  // as fast per FLOP whatever the shape
    for (const std::int64_t heads : {1, 64})
      attention.push_back({1, 64, heads, size, 2e-12 * static_cast<double>(heads * 64 * 64 * size)});
  const TableCosts costs("NVIDIA V100", even_products(), attention);
  const auto graph = lone(graph::OpKind::attention, graph::Attention{.queries = 64,
                                                                     .keys = 64,
                                                                     .hidden = 64,
                                                                     .heads = 4,
                                                                     .core = graph::AttentionCore::flash,
                                                                     .inner = 64,
                                                                     .value_head = 8,
                                                                     .mask = graph::AttentionMask::causal});
  // Keys 16 wide, values 8: 12 in the mean.
  CHECK(costs.core_forward(graph, core::OpId(1), kDevice, 2, {}).value() ==
        near(2e-12 * 2 * 4 * 64 * 64 * 12));
}

TEST_CASE("the tables' attention is causal: without a mask a flash core takes twice as long") {
  const TableCosts costs("NVIDIA V100", even_products(), {{1, 64, 4, 16, 40e-6, 100e-6}});
  const auto time = [&](graph::AttentionMask mask, std::int64_t reach) {
    const auto graph = lone(graph::OpKind::attention, graph::Attention{.queries = 64,
                                                                       .keys = 64,
                                                                       .hidden = 64,
                                                                       .heads = 4,
                                                                       .core = graph::AttentionCore::flash,
                                                                       .mask = mask,
                                                                       .reach = reach});
    return costs.core_forward(graph, core::OpId(1), kDevice, 1, {}).value();
  };
  CHECK(time(graph::AttentionMask::causal, 0) == near(40e-6));
  CHECK(time(graph::AttentionMask::none, 0) == near(80e-6));
  CHECK(time(graph::AttentionMask::blocks, 16) == near(10e-6));
  // 16 x (64 - 8) of 64 x 64 / 2 pairs.
  CHECK(time(graph::AttentionMask::window, 16) == near(40e-6 * 16 * 56 / 2048));
}

TEST_CASE("a file's times are microseconds, backward times of attention among them") {
  const auto costs = cost::parse_kernel_tables(
      "penstock_kernel_tables: 1\ndevice: NVIDIA V100\nproducts: |\n  8 16 32 2.5\nattention: |\n"
      "  1 64 4 16 40 100\n  2 64 4 16 70\nall_reduce: |\n  2 1000 30\n",
      "tables.yaml");
  CHECK(costs.products()[0].seconds == near(2.5e-6));
  REQUIRE(costs.attention().size() == 2);
  CHECK(costs.attention()[0].seconds == near(40e-6));
  CHECK(costs.attention()[0].backward == near(100e-6));
  CHECK(costs.attention()[1].backward == 0);
  CHECK(costs.collectives()->rows()[0].seconds == near(30e-6));
  CHECK(cost::parse_kernel_tables(to_yaml(costs), "again.yaml").attention()[0].backward == near(100e-6));
}
