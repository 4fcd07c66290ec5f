#include "models/layers.hpp"

#include <doctest/doctest.h>

#include "penstock/core/error.hpp"

using namespace penstock;
using core::Bytes;
using core::Flops;
using models::Activation;
using models::Layers;
using models::Tensor;

namespace {

const graph::Operator& op(const graph::OpGraph& g, std::size_t i) {
  return g.op(core::OpId(i));
}

}  // namespace

TEST_CASE("a dense layer costs 2 x in x out, and nothing backward to a plain input") {
  // 3 x 5 weights, one row: 15 multiply-adds = 30 FLOPs. The second layer, 5 x 2, needs an input gradient.
  Layers net("m");
  const Tensor x = net.linear("first", net.input("x", {3}), 5);
  net.linear("second", x, 2, {.bias = true});
  const auto g = net.build();
  CHECK(op(g, 1).forward_flops == Flops(30));
  CHECK(op(g, 1).input_gradient_flops == Flops(0));
  CHECK(op(g, 1).weight_gradient_flops == Flops(30));
  CHECK(op(g, 1).output_bytes == Bytes(20));
  CHECK(op(g, 1).saved_bytes == Bytes(20));
  CHECK(op(g, 2).input_gradient_flops == Flops(20));
  CHECK(op(g, 2).parameters == 5 * 2 + 2);
}

TEST_CASE("attention keeps projections, probabilities, context and output") {
  // One MMT layer: a (256, 1024) tensor of fp32 is 1 MiB. Kept: query, key, value 3 MiB, probabilities
  // 16 x 256 x 256 x 4 B = 4 MiB, context 1 MiB, output 1 MiB; 9 MiB in all.
  constexpr std::int64_t kMiB = 1 << 20;
  Layers net("m");
  const Tensor x = net.input("x", {256, 1024});
  net.attention("attention", x, x, x, 16);
  const auto g = net.build();
  CHECK(op(g, 0).output_bytes == Bytes(kMiB));
  CHECK(op(g, 1).output_bytes == Bytes(kMiB));
  CHECK(op(g, 1).saved_bytes == Bytes(9 * kMiB));
  CHECK(op(g, 1).parameters == 4 * 1024 * 1024);
  CHECK(g.dag().edge_count() == 1);
}

TEST_CASE("attention on a plain input skips the gradients of the three input projections only") {
  // 2 tokens of width 4: a projection is 2 * 2*4*4 = 64 FLOPs, scores and context 2 * 2*2*2*4 = 64 together.
  Layers net("m");
  const Tensor x = net.input("x", {2, 4});
  const Tensor y = net.attention("first", x, x, x, 2);
  net.attention("second", y, y, y, 2);
  const auto g = net.build();
  CHECK(op(g, 1).forward_flops == Flops(4 * 64 + 64));
  CHECK(op(g, 1).weight_gradient_flops == Flops(4 * 64));
  CHECK(op(g, 1).input_gradient_flops == Flops(2 * 64 + 64));
  CHECK(op(g, 2).input_gradient_flops == Flops(2 * 64 + 4 * 64));
}

TEST_CASE("cross attention weighs queries against the keys of another tensor") {
  // 2 queries, 3 keys, width 4, 2 heads. Kept: query 8, key and value 24, probabilities 12, context and
  // output 16.
  Layers net("m");
  const Tensor q = net.input("q", {2, 4}), memory = net.input("memory", {3, 4});
  const Tensor y = net.attention("a", q, memory, memory, 2);
  CHECK(y.shape == models::Shape{2, 4});
  const auto g = net.build();
  CHECK(op(g, 2).saved_bytes == Bytes(4 * (8 + 24 + 12 + 16)));
  CHECK(op(g, 2).forward_flops == Flops(2 * (8 * 4 + 12 * 4 + 12 * 4 + 8 * 4) + 2 * 2 * 2 * 3 * 4));
}

TEST_CASE("an embedding reads only the rows it looks up") {
  // 5 rows of width 4 out of 100: 20 numbers; summed to 4, or left as 5 x 4.
  Layers net("m");
  const Tensor sum = net.embedding("sum", net.indices("i", 5), {100, 4, true});
  const Tensor all = net.embedding("all", net.indices("j", 5), {100, 4});
  CHECK(sum.shape == models::Shape{4});
  CHECK(all.shape == models::Shape{5, 4});
  const auto g = net.build();
  CHECK(op(g, 0).output_bytes == Bytes(5 * 8));
  CHECK(op(g, 1).parameters == 400);
  CHECK(op(g, 1).gathered_parameters == 20);
  CHECK(op(g, 1).forward_flops == Flops(20));
  CHECK(op(g, 3).forward_flops == Flops(0));
  CHECK(op(g, 3).weight_gradient_flops == Flops(20));
}

TEST_CASE("a convolution slides its window") {
  // 7 x 7, kernel 3, stride 2, padding 1: (7 + 2 - 3) / 2 + 1 = 4. 8 x 4 x 4 outputs of 2 x 3 x 3
  // multiply-adds.
  Layers net("m");
  const Tensor y = net.conv2d("c", net.input("x", {2, 7, 7}), 8, {{3, 3}, {2, 2}, {1, 1}}, true);
  CHECK(y.shape == models::Shape{8, 4, 4});
  const auto g = net.build();
  CHECK(op(g, 1).parameters == 8 * (2 * 3 * 3 + 1));
  CHECK(op(g, 1).forward_flops == Flops(2.0 * 8 * 4 * 4 * 2 * 3 * 3));
  Layers small("m");
  const Tensor x = small.input("x", {2, 2, 2});
  CHECK_THROWS_AS(small.conv2d("c", x, 8, {{3, 3}}), core::Error);
}

TEST_CASE("views and in-place activations keep nothing of their own") {
  Layers net("m");
  const Tensor x = net.linear("l", net.input("x", {2, 3}), 4);
  net.activation("gelu", net.activation("relu", net.flatten("flat", x), Activation::relu), Activation::gelu);
  const auto g = net.build();
  CHECK(op(g, 2).saved_bytes == Bytes(0));
  CHECK(op(g, 2).attributes == graph::Attributes(graph::Elements{8}));
  CHECK(op(g, 2).output_bytes == Bytes(32));
  CHECK(op(g, 2).forward_flops == Flops(0));
  CHECK(op(g, 3).saved_bytes == Bytes(0));
  CHECK(op(g, 4).saved_bytes == Bytes(32));
}

TEST_CASE("sums, concats and norms") {
  Layers net("m");
  const Tensor a = net.input("a", {2, 3}), b = net.input("b", {2, 5});
  CHECK(net.concat("wide", {a, b}, 1).shape == models::Shape{2, 8});
  CHECK_THROWS_AS(net.concat("tall", {a, b}, 0), core::Error);
  CHECK_THROWS_AS(net.add("sum", {a, b}), core::Error);
  const Tensor n = net.layer_norm("norm", net.add("twice", {a, a}));
  CHECK(n.needs_gradient);
  const auto g = net.build();
  CHECK(op(g, 3).forward_flops == Flops(6));
  CHECK(op(g, 4).parameters == 2 * 3);
  CHECK(op(g, 4).saved_bytes == Bytes(4 * (6 + 2 * 2)));  // output, mean and deviation of two rows
}

TEST_CASE("a matrix product costs its forward work once per operand that needs a gradient") {
  // 2 x 3 by 3 x 4: 48 FLOPs. The left operand is trained, the right one is an input.
  Layers net("m");
  const Tensor a = net.linear("a", net.input("x", {2, 3}), 3), b = net.input("b", {3, 4});
  net.matmul("product", a, b, {1, 2, 3, 4}, {2, 4});
  const auto g = net.build();
  CHECK(op(g, 3).forward_flops == Flops(48));
  CHECK(op(g, 3).input_gradient_flops == Flops(48));
  CHECK(op(g, 3).weight_gradient_flops == Flops(0));
}

TEST_CASE("shapes have all extents that a kernel needs") {
  Layers net("m");
  const Tensor image = net.input("x", {2, 7, 6}), tokens = net.input("t", {3, 4});
  net.max_pool("pool", image, {{3, 2}, {2, 1}, {1, 0}});
  net.adaptive_average_pool("thirds", image, 3);  // 7 cells in 3: stride 2, the window 7 - 2 * 2 = 3
  net.batch_norm("batch", image);
  net.layer_norm("layer", tokens);
  net.concat("channels", {image, net.input("y", {5, 7, 6})});
  net.concat("ends", {tokens, net.input("u", {2, 4})});
  net.attention("a", tokens, net.input("k", {9, 5}), net.input("v", {9, 6}), 2, {.bias = true});
  net.embedding("bag", net.indices("i", 5), {100, 4, true});
  const auto g = net.build();
  const auto extent = [&](const std::string& name, const std::string& key) -> std::int64_t {
    for (const auto& one : g.operators())
      for (const auto& [known, value] : shape_of(one.attributes))
        if (one.name == name && known == key) return value;
    return -1;
  };
  CHECK(extent("pool", "channels") == 2);
  CHECK(extent("pool", "height") == 7);
  CHECK(extent("pool", "kernel_height") == 3);
  CHECK(extent("pool", "kernel_width") == 2);
  CHECK(extent("pool", "stride_height") == 2);
  CHECK(extent("pool", "padding_height") == 1);
  CHECK(extent("thirds", "kernel_height") == 3);
  CHECK(extent("thirds", "stride_height") == 2);
  CHECK(extent("thirds", "kernel_width") == 2);
  CHECK(extent("batch", "batch") == 1);
  CHECK(extent("layer", "batch") == -1);
  CHECK(extent("channels", "rows") == 42);  // pixels, of 2 and 5 channels
  CHECK(extent("channels", "part0") == 2);
  CHECK(extent("channels", "part1") == 5);
  CHECK(extent("ends", "rows") == 1);
  CHECK(extent("ends", "part1") == 8);
  CHECK(extent("a", "key_width") == 5);
  CHECK(extent("a", "value_width") == 6);
  CHECK(extent("a", "bias") == 1);
  CHECK(extent("bag", "sum") == 1);
}

TEST_CASE("normalised queries and keys are kept before their norms too; a window's largest keeps its place") {
  // 8 tokens, 16 wide, 4 heads: queries and keys of 128 numbers each.
  const auto saved = [](bool norm) {
    Layers net("m");
    const Tensor x = net.input("x", {8, 16});
    net.attention("attention", x, x, x, 4,
                  {.key_norm = norm ? models::KeyNorm::head : models::KeyNorm::none});
    return net.build().op(core::OpId(1)).saved_bytes;
  };
  CHECK(saved(true) - saved(false) == Bytes(2 * 8 * 16 * 4));
  // 2 x 2 windows of a 4 x 4 image of 3 channels: 12 outputs of four bytes, and a byte of place for each.
  Layers net("m");
  const Tensor x = net.input("x", {3, 4, 4});
  net.max_pool("most", x, {{2, 2}, {2, 2}});
  net.average_pool("mean", x, {{2, 2}, {2, 2}});
  const auto g = net.build();
  CHECK(op(g, 1).saved_bytes == Bytes(12 * 4 + 12));
  CHECK(op(g, 2).saved_bytes == Bytes(12 * 4));
}
