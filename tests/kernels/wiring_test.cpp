// Readers of each tensor and owners of parameters, on small random models.

#include "penstock/kernels/wiring.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "models/catalogue.hpp"
#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "penstock/graph/graph_file.hpp"
#include "support/near.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::OpId;
using kernels::Element;
using kernels::Precision;
using models::Activation;
using models::Layers;

//  rows (0) --> table (1) --> middle (2) --> head (3), tied to the table
TEST_CASE("a tied operator's parameters are its owner's; pointers refer to their table") {
  Layers net("tied");
  const auto x = net.embedding("table", net.indices("rows", 4), {.rows = 11, .width = 3});
  net.linear("head", net.linear("middle", x, 3, {.bias = true}), 11, {.parameters_of = "table"});
  const auto wires = kernels::wire(net.build(), Precision::bf16);
  CHECK(wires[0].rows == 11);
  CHECK(wires[0].made.element == Element::int64);
  CHECK_FALSE(wires[0].trains);
  CHECK_FALSE(wires[1].trains_above);
  CHECK(wires[1].trains);
  CHECK(wires[1].made.element == Element::bf16);
  CHECK(wires[1].made.count == 4 * 3);
  CHECK(wires[2].parameters[1].owner == kernels::ParameterRef{OpId(2), 1});
  CHECK(wires[3].parameters[0].owner == kernels::ParameterRef{OpId(1), 0});
}

//  a (0: 3) --> wide (1: 5) -+-> concat (3): parts of 3 and 5 and 3
//  b (2: 3) ------------------+
TEST_CASE("operands keep their order; without one they are identified by size, and equal sizes by number") {
  Layers net("concat");
  const auto a = net.input("a", {3});
  const auto wide = net.linear("wide", a, 5);
  const auto b = net.input("b", {3});
  net.concat("all", {b, wide, a});
  const auto graph = net.build();
  CHECK(kernels::wire(graph, Precision::fp32)[3].sources == std::vector<OpId>{OpId(2), OpId(1), OpId(0)});
  std::string file = graph::to_json(graph);
  file.replace(file.find("\"version\": 2"), 12, "\"version\": 1");
  const auto old = graph::parse_graph(file, "old.json");
  // The file's operators come by name: a, b, wide.
  CHECK(kernels::wire(old, Precision::fp32)[3].sources == std::vector<OpId>{OpId(0), OpId(2), OpId(1)});
}

TEST_CASE("queries of cross attention have the decoder's tokens, even if the encoder has as many") {
  const auto graph = models::build("encoder_decoder", {{"layers", "1"}, {"hidden", "8"}, {"heads", "2"}});
  const auto wires = kernels::wire(graph, Precision::fp32);
  const auto named = [&](const std::string& name) {
    for (std::size_t v = 0; v < graph.size(); ++v)
      if (graph.op(OpId(v)).name == name) return OpId(v);
    return OpId();
  };
  const OpId said = named("decoder0.self.norm"), memory = named("encoder0.feed.norm");
  CHECK(wires[named("decoder0.cross").index()].sources == std::vector<OpId>{said, memory, memory});
}

TEST_CASE("operands that are too many, too few or of another size are refused") {
  Layers net("net");
  const auto a = net.input("a", {3}), b = net.input("b", {4});
  (void)b;
  graph::Operator sum;
  sum.name = "sum";
  sum.kind = graph::OpKind::elementwise;
  sum.attributes = graph::Elementwise{3, 2};
  const auto message = [&](std::initializer_list<OpId> operands) -> std::string {
    graph::GraphBuilder builder("net");
    const graph::OpGraph inputs = net.build();
    for (const auto& op : inputs.operators()) builder.add(op);
    builder.add(sum, operands);
    try {
      kernels::wire(builder.build(), Precision::fp32);
    } catch (const core::BadInput& error) {
      return error.what();
    }
    return "none";
  };
  CHECK(message({a.producer, a.producer}) == "none");
  CHECK(message({a.producer}) == "operator 'sum' reads 1 tensors, its kind 2");
  CHECK(message({a.producer, b.producer}) == "operator 'sum': the output of 'b' has not the 3 elements of x");
}

TEST_CASE("operators without a kernel and views larger than their input are refused") {
  CHECK_THROWS_WITH_AS(kernels::wire(support::tiny_graph(1, {}), Precision::fp32),
                       "operator 'a': kind profiled has no kernel", core::BadInput);
  graph::GraphBuilder builder("view");
  graph::Operator op = support::unit_op("x");
  op.kind = graph::OpKind::input;
  op.attributes = graph::Elements{3};
  const OpId x = builder.add(op, {});
  op.name = "more";
  op.kind = graph::OpKind::reshape;
  op.attributes = graph::Elements{4};
  builder.add(op, {x});
  CHECK_THROWS_WITH_AS(kernels::wire(builder.build(), Precision::fp32),
                       "reshape 'more' has more elements than its input", core::BadInput);
}

//  x --> conv --> relu0 -+-> relu1 --> gelu            relu0 works in place; relu1 would spoil what the sum
//  reads;
//                        +-----------> sum --> tanh    gelu's gradient needs its input; tanh works in place
TEST_CASE("activations work in place if their input is not needed any more") {
  Layers net("in place");
  const auto conv = net.conv2d("conv", net.input("x", {2, 4, 4}), 3, {.kernel = {1, 1}});
  const auto relu = net.activation("relu0", conv, Activation::relu);
  const auto gelu = net.activation("gelu", net.activation("relu1", relu, Activation::relu), Activation::gelu);
  net.activation("tanh", net.add("sum", {relu, gelu}), Activation::tanh);
  const graph::OpGraph graph = net.build();
  const auto wires = kernels::wire(graph, Precision::fp32);
  std::vector<std::string> in_place;
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (works_in_place(graph, wires, OpId(v))) in_place.push_back(graph.op(OpId(v)).name);
  CHECK(in_place == std::vector<std::string>{"relu0", "tanh"});
}

// A table of 11 rows of 3: uniform in [-1, 1), since the square of that has mean 1/3. A bias: variance 1.
TEST_CASE("parameters reach as far as keeps the size of sums") {
  CHECK(kernels::reach({"weights", {11, 3}}) == support::near(1));
  CHECK(kernels::reach({"bias", {11}}) == support::near(std::sqrt(3.0)));
}
