#include "penstock/cost/analytic.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::OpId;

namespace {

cluster::DeviceType v100() {
  return {"v100", core::Bytes(1), core::Bandwidth(900e9), {core::FlopRate(15.7e12)}, 80, core::Seconds(5e-6)};
}

/// x -> dense layer of 1024 x 1024 on rows of 1024 fp32 numbers.
graph::OpGraph dense() {
  graph::GraphBuilder b("dense");
  graph::Operator x, y;
  x.name = "x";
  x.output_bytes = core::Bytes(4096);
  y.name = "y";
  y.kind = graph::OpKind::linear;
  y.forward_flops = y.input_gradient_flops = y.weight_gradient_flops = core::Flops(2.0 * 1024 * 1024);
  y.parameters = 1024 * 1024;
  y.output_bytes = y.saved_bytes = core::Bytes(4096);
  b.add(y, {b.add(x)});
  return b.build();
}

double forward(std::int64_t samples, const cluster::DeviceType& device = v100()) {
  return cost::AnalyticCosts().op_time(dense(), OpId(1), device, samples).forward.value();
}

}  // namespace

TEST_CASE("one row is bound by its few independent sums") {
  // 1024 outputs; splitting 1024-long sums into pieces of 256 gives 1024 * 1024 / 256 = 4096, of which half
  // the attainable rate wants 80 * 4096 = 327680. Reading 4 MiB of weights would take 5.6 us, the sums
  // take 12.0 us.
  const double rate = 15.7e12 * 0.9 * 4096 / (4096 + 327680);
  CHECK(forward(1) == support::near(5e-6 + 2.0 * 1024 * 1024 / rate));
}

TEST_CASE("on a device that computes fast one row is bound by reading the weights") {
  // 4 MiB of weights and 8 KiB of tensors at 0.83 * 900 GB/s, after a launch of 5 us.
  cluster::DeviceType device = v100();
  device.peak[static_cast<std::size_t>(cluster::Precision::fp32)] = core::FlopRate(1e15);
  CHECK(forward(1, device) == support::near(5e-6 + (4194304 + 8192) / (0.83 * 900e9)));
}

TEST_CASE("half of the attainable rate is reached at one 64 x 64 tile per multiprocessor") {
  // 320 rows of 1024 outputs are 80 * 4096 elements: rate = 15.7e12 * 0.9 / 2.
  CHECK(forward(320) == support::near(5e-6 + 2.0 * 1024 * 1024 * 320 / (15.7e12 * 0.9 / 2)));
}

TEST_CASE("a product with few outputs is split along its inner dimension") {
  // 32 rows: 32768 outputs would give 9 % of the rate; splitting 1024-long sums into pieces of 256 gives
  // 32 * 1024 * 1024 / 256 = 131072 independent sums: 131072 / (131072 + 327680).
  const double rate = 15.7e12 * 0.9 * 131072 / (131072 + 327680);
  CHECK(forward(32) == support::near(5e-6 + 2.0 * 1024 * 1024 * 32 / rate));
}

TEST_CASE("time grows and time per sample falls with the batch") {
  for (std::int64_t n = 1; n < 4096; n *= 2) {
    CHECK(forward(2 * n) > forward(n));
    CHECK(forward(2 * n) / 2 < forward(n));
  }
}

TEST_CASE("two-byte numbers run at the bf16 rate, else at the fp16 rate") {
  graph::GraphBuilder b("half", 2);
  graph::Operator op;
  op.name = "a";
  op.kind = graph::OpKind::linear;
  op.forward_flops = core::Flops(1e15);
  op.output_bytes = core::Bytes(std::int64_t{1} << 40);  // so wide that the device is saturated
  b.add(op);
  const auto g = b.build();
  cluster::DeviceType device = v100();
  device.memory_bandwidth = core::Bandwidth(1e30);
  const auto seconds = [&] { return cost::AnalyticCosts().op_time(g, OpId(0), device, 1).forward.value(); };
  device.peak[static_cast<std::size_t>(cluster::Precision::fp16)] = core::FlopRate(125e12);
  CHECK(seconds() == support::near(1e15 / (0.9 * 125e12), 1e-3));
  device.peak[static_cast<std::size_t>(cluster::Precision::bf16)] = core::FlopRate(250e12);
  CHECK(seconds() == support::near(1e15 / (0.9 * 250e12), 1e-3));
}

TEST_CASE("four-byte numbers run at the fp32 rate whatever others there are") {
  cluster::DeviceType device = v100();
  device.peak[static_cast<std::size_t>(cluster::Precision::fp16)] = core::FlopRate(125e12);
  device.peak[static_cast<std::size_t>(cluster::Precision::bf16)] = core::FlopRate(125e12);
  CHECK(forward(320, device) == support::near(forward(320)));
}

TEST_CASE("inputs cost nothing, backward has both gradients") {
  const cost::AnalyticCosts costs;
  CHECK(costs.op_time(dense(), OpId(0), v100(), 8).forward.value() == 0);
  const auto time = costs.op_time(dense(), OpId(1), v100(), 8);
  CHECK(time.input_gradient.value() > 0);
  CHECK(time.weight_gradient.value() > 0);
}

TEST_CASE("attention launches seven kernels") {
  graph::GraphBuilder b("attention");
  graph::Operator op;
  op.name = "a";
  op.kind = graph::OpKind::attention;
  op.output_bytes = core::Bytes(747'000);
  b.add(op);
  const auto time = cost::AnalyticCosts().op_time(b.build(), OpId(0), v100(), 1).forward.value();
  CHECK(time == support::near(7 * 5e-6 + 1e-6));  // and streams at 0.83 * 900 GB/s
}

TEST_CASE("a tied head reads the table's weights and has their gradient, as a head of its own does") {
  const cost::AnalyticCosts costs;
  std::vector<cost::OpTime> heads;
  for (const char* tied : {"yes", "no"}) {
    const auto graph =
        models::build("gpt", {{"layers", "1"}, {"hidden", "64"}, {"heads", "4"}, {"tied_head", tied}});
    const OpId head(graph.size() - 1);
    REQUIRE(graph.op(head).name == "head");
    heads.push_back(costs.op_time(graph, head, v100(), 2));
  }
  CHECK(heads[0].forward == heads[1].forward);
  CHECK(heads[0].input_gradient == heads[1].input_gradient);
  CHECK(heads[0].weight_gradient == heads[1].weight_gradient);
  CHECK(heads[0].weight_gradient > core::Seconds(1e-4));
  // A tied table: no gradient of the row numbers it looks up.
  const auto translation = models::build("encoder_decoder");
  for (std::size_t i = 0; i < translation.size(); ++i)
    if (translation.op(OpId(i)).kind == graph::OpKind::embedding)
      CHECK(costs.op_time(translation, OpId(i), v100(), 2).input_gradient == core::Seconds(0));
}

TEST_CASE(
    "a cross entropy moves 32 bytes per logit forward and 8 backward, and 6 each to cast from and to two "
    "bytes") {
  // One sample: 1,024 rows of 1,000 logits, at 0.83 * 900 GB/s, beside 5 us to launch.
  for (const bool half : {true, false}) {
    const auto graph = models::build(
        "gpt",
        {{"layers", "1"}, {"vocabulary", "1000"}, {"loss", "yes"}, {"element_bytes", half ? "2" : "4"}});
    const OpId loss(graph.size() - 1);
    const auto time = cost::AnalyticCosts().op_time(graph, loss, v100(), 1);
    const double cast = half ? 6 : 0, each = 1024e3 / (0.83 * 900e9);
    CHECK(time.forward.value() == support::near(5e-6 + (32 + cast) * each));
    CHECK(time.backward().value() == support::near(5e-6 + (8 + cast) * each));
    CHECK(graph.op(loss).saved_bytes + graph.op(OpId(loss.index() - 1)).saved_bytes ==
          core::Bytes(4 * 1'024'000));
  }
}

TEST_CASE(
    "a core is as slow as its heads are wide, whatever the hidden width; norms of queries and keys cost a "
    "pass over them") {
  const auto attention = [](std::map<std::string, std::string> given) {
    given.insert(
        {{"layers", "1"}, {"heads", "4"}, {"kv_heads", "4"}, {"sequence", "256"}, {"vocabulary", "8"}});
    return models::build("llama", given);
  };
  const auto at = [](const graph::OpGraph& g) {
    std::size_t i = 0;
    while (g.op(OpId(i)).kind != graph::OpKind::attention) ++i;
    return OpId(i);
  };
  const auto narrow = attention({{"hidden", "64"}, {"head_width", "64"}}),
             wide = attention({{"hidden", "256"}}),
             normed = attention({{"hidden", "256"}, {"qk_norm", "yes"}});
  const cost::AnalyticCosts costs;
  CHECK(costs.core_forward(narrow, at(narrow), v100(), 2, {}) ==
        costs.core_forward(wide, at(wide), v100(), 2, {}));
  CHECK(costs.rotary_time(narrow, at(narrow), v100(), 2) == costs.rotary_time(wide, at(wide), v100(), 2));
  CHECK(costs.rotary_time(normed, at(normed), v100(), 2).value() ==
        support::near(2 * costs.rotary_time(wide, at(wide), v100(), 2).value()));
}

namespace {

/// Computes at once and moves 0.83e12 bytes a second; a launch takes a microsecond.
cluster::DeviceType streaming_device() {
  return {"stream", core::Bytes(1), core::Bandwidth(1e12), {core::FlopRate(1e30)}, 1, core::Seconds(1e-6)};
}

double streamed(double bytes) {
  return bytes / 0.83e12;
}

/// x -> one operator, of so many fp32 numbers each.
graph::OpGraph after_input(std::int64_t numbers, graph::Operator op) {
  graph::GraphBuilder b("one");
  graph::Operator x;
  x.name = "x";
  x.output_bytes = core::Bytes(4 * numbers);
  op.name = "y";
  const OpId input = b.add(x);
  b.add(op, {input});
  return b.build();
}

/// 8 tokens, 16 wide; 4 heads, of which two share a key.
graph::Operator attention_of(graph::Attention a) {
  graph::Operator op;
  op.kind = graph::OpKind::attention;
  a.queries = a.keys = 8;
  a.hidden = 16;
  a.heads = 4;
  op.attributes = a;
  op.parameters = 1000;
  op.forward_flops = op.input_gradient_flops = op.weight_gradient_flops = core::Flops(1);
  op.output_bytes = core::Bytes(4 * 8 * 16);
  return op;
}

}  // namespace

TEST_CASE("a column's device reads all inputs and writes its outputs, a row's the other way round") {
  const cost::AnalyticCosts costs;
  const auto forward_of = [&](const cost::OpShard& part) {
    return costs.part_time(dense(), OpId(1), streaming_device(), 3, part).forward.value();
  };
  // 4 KiB in and out per sample, 4 MiB of weights, of which each of two devices has half.
  const double weights = 4194304 / 2;
  CHECK(forward_of({plan::Partition::column, 0.5, true, false}) ==
        support::near(1e-6 + streamed(3 * (4096 + 2048) + weights)));
  CHECK(forward_of({plan::Partition::row, 0.25, false, true}) ==
        support::near(1e-6 + streamed(3 * (1024 + 4096) + weights / 2)));
}

TEST_CASE("queries and keys are turned in two kernels each way, which read and write both") {
  const cost::AnalyticCosts costs;
  const auto turned = after_input(128, attention_of({.kv_heads = 2, .rotary = true}));
  const auto normed = after_input(128, attention_of({.kv_heads = 2, .rotary = true, .qk_norm = true}));
  const auto bare = after_input(128, attention_of({.kv_heads = 2}));
  // Queries of 8 x 16 numbers, keys of 8 x 8: both read and written, of three samples.
  const double once = 2e-6 + streamed(2 * (8 * 16 + 8 * 8) * 4 * 3);
  CHECK(costs.rotary_time(turned, OpId(1), streaming_device(), 3).value() == support::near(once));
  CHECK(costs.rotary_time(normed, OpId(1), streaming_device(), 3).value() == support::near(2 * once));
  const auto with = costs.op_time(turned, OpId(1), streaming_device(), 3),
             without = costs.op_time(bare, OpId(1), streaming_device(), 3);
  CHECK((with.forward - without.forward).value() == support::near(once, 1e-6));
  CHECK((with.input_gradient - without.input_gradient).value() == support::near(once, 1e-6));
  CHECK(with.weight_gradient == without.weight_gradient);
}

TEST_CASE("a core reads queries, shared keys and values, and writes its result; twice as much going back") {
  const cost::AnalyticCosts costs;
  const auto flash = after_input(128, attention_of({.kv_heads = 2, .core = graph::AttentionCore::flash}));
  // Queries and result 8 x 16 each, keys and values 8 x 8 each.
  const auto bytes = [](double samples) { return (2 * 8 * 16 + 2 * 8 * 8) * 4 * samples; };
  const auto time = costs.core_time(flash, OpId(1), streaming_device(), 3, {});
  CHECK(time.forward.value() == support::near(1e-6 + streamed(bytes(3))));
  CHECK(time.input_gradient.value() == support::near(1e-6 + streamed(2 * bytes(3))));
  CHECK(time.weight_gradient.value() == 0);
  // Half of four samples.
  CHECK(costs.core_forward(flash, OpId(1), streaming_device(), 4, {plan::Partition::batch, 0.5}).value() ==
        support::near(1e-6 + streamed(bytes(2))));
}

TEST_CASE("a flash core as it runs skips what its mask hides, and goes back at five products to two") {
  const auto masked = [](graph::AttentionCore core, bool as_run) {
    auto device = streaming_device();
    device.peak = {};
    for (auto& peak : device.peak) peak = core::FlopRate(1e9);  // so slow that only FLOPs count
    device.launch_overhead = core::Seconds(0);
    const cost::AnalyticCosts costs({.half_rate_outputs = 0, .flash_as_run = as_run});
    const auto op = attention_of({.kv_heads = 2, .core = core, .mask = graph::AttentionMask::causal});
    return costs.core_time(after_input(128, op), OpId(1), device, 3, {});
  };
  using enum graph::AttentionCore;
  // Scores and context: 2 x 2 x 8 x 8 x 16 FLOPs for each of three samples.
  const double all = 2 * 2 * 8 * 8 * 16 * 3 / (0.9 * 1e9);
  CHECK(masked(flash, true).forward.value() == support::near(all / 2, 1e-3));
  CHECK(masked(flash, true).input_gradient.value() == support::near(2.5 * all / 2, 1e-3));
  CHECK(masked(flash, false).forward.value() == support::near(all, 1e-3));
  CHECK(masked(flash, false).input_gradient.value() == support::near(2 * all, 1e-3));
  const auto skipping = masked(plain, true), all_pairs = masked(plain, false);
  CHECK(skipping.forward == all_pairs.forward);
  CHECK(skipping.input_gradient == all_pairs.input_gradient);
}

TEST_CASE("dropout of plain scores reads and writes them once more each way, and a byte for each") {
  // 4 heads, 8 x 8 pairs: 256 numbers of 4 bytes a sample.
  const auto time = [](bool dropout) {
    const auto op = attention_of({.core = graph::AttentionCore::plain, .dropout = dropout});
    return cost::AnalyticCosts().core_time(after_input(128, op), OpId(1), streaming_device(), 3, {});
  };
  const auto heads = graph::as<graph::Attention>(attention_of({})).heads;
  const double more = streamed(static_cast<double>(heads * 8 * 8 * (4 + 4 + 1) * 3));
  CHECK((time(true).forward - time(false).forward).value() == support::near(more, 1e-9));
  CHECK((time(true).input_gradient - time(false).input_gradient).value() == support::near(more, 1e-9));
}

TEST_CASE("frozen weights are read as trained ones are") {
  graph::Operator op;
  op.kind = graph::OpKind::linear;
  op.forward_flops = core::Flops(1);
  op.frozen_parameters = 1000;
  op.output_bytes = core::Bytes(40);
  const auto time = cost::AnalyticCosts().op_time(after_input(10, op), OpId(1), streaming_device(), 1);
  CHECK(time.forward.value() == support::near(1e-6 + streamed(40 + 40 + 4000)));
  CHECK(time.weight_gradient.value() == 0);
}

TEST_CASE("every expert reads its rows and weights and writes its results") {
  // 4 rows, 8 wide, one expert each of 2, 16 wide: 2 rows an expert.
  const auto time_of = [](graph::Experts experts, const cost::OpShard& part) {
    graph::Operator op;
    op.kind = graph::OpKind::experts;
    op.attributes = experts;
    op.parameters = 1000;
    op.forward_flops = op.input_gradient_flops = op.weight_gradient_flops = core::Flops(1);
    op.output_bytes = core::Bytes(4 * 4 * 8);
    return cost::AnalyticCosts().part_time(after_input(32, op), OpId(1), streaming_device(), 1, part);
  };
  const graph::Experts two{.rows = 4, .hidden = 8, .inner = 16, .experts = 2, .chosen = 1};
  // Copied there and back: 4 rows and 4 copies each way; the activation reads and writes 16 of each copy.
  // Four kernels.
  const double moves = 4e-6 + streamed((2 * (4 + 4) * 8 + 4 * (16 + 16)) * 4);
  const double products = 2 * 2 * (1e-6 + streamed((2 * 8 + 8 * 16 + 2 * 16) * 4));
  const auto time = time_of(two, {});
  CHECK(time.forward.value() == support::near(moves + products));
  CHECK(time.weight_gradient.value() == support::near(products));
  // By tokens a device has half of the rows: one row an expert.
  const double half_moves = 4e-6 + streamed((2 * (2 + 2) * 8 + 2 * (16 + 16)) * 4),
               half_products = 2 * 2 * (1e-6 + streamed((8 + 8 * 16 + 16) * 4));
  CHECK(time_of(two, {plan::Partition::sequence, 0.5}).forward.value() ==
        support::near(half_moves + half_products));
  // Only the 4 of 8 experts that get a row run.
  graph::Experts eight = two;
  eight.experts = 8;
  CHECK(time_of(eight, {}).weight_gradient.value() ==
        support::near(2 * 4 * (1e-6 + streamed((8 + 8 * 16 + 16) * 4))));
}
