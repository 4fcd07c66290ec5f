#include "penstock/graph/tensor.hpp"

#include <doctest/doctest.h>

#include <map>

#include "models/catalogue.hpp"
#include "models/layers.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using graph::Axis;
using graph::DType;
using graph::Role;
using graph::Tensor;
using models::Layers;

namespace {

std::map<std::string, Tensor> named_outputs(const graph::OpGraph& graph) {
  std::map<std::string, Tensor> out;
  for (std::size_t v = 0; v < graph.size(); ++v)
    out[graph.op(core::OpId(v)).name] = graph.output(core::OpId(v));
  return out;
}

}  // namespace

TEST_CASE("axes are named by what they count") {
  // 6 tokens of width 4, as a table has them; the dense layer makes 6 rows of 8, and the function keeps
  // these.
  Layers net("m");
  const auto tokens = net.embedding("table", net.view("shown", net.indices("rows", 6), {6}), {50, 4});
  const auto wide = net.linear("wide", tokens, 8);
  net.activation("curve", net.attention("attend", wide, wide, wide, 2), models::Activation::gelu);
  const auto image = net.conv2d("conv", net.input("picture", {3, 9, 7}), 5, {{3, 3}, {2, 1}});
  net.batch_norm("norm", image);
  net.concat("both", {image, image});
  const auto made = named_outputs(net.build());
  const std::vector<Axis> rows = {{Role::rows, 6}, {Role::features, 8}};
  CHECK(made.at("rows") == Tensor{{{Role::elements, 6}}, DType::index});
  CHECK(made.at("shown") == Tensor{{{Role::elements, 6}}, DType::index});
  CHECK(made.at("table") == Tensor{{{Role::rows, 6}, {Role::features, 4}}, DType::number});
  CHECK(made.at("wide").axes == rows);
  CHECK(made.at("curve").axes == rows);
  // (9 - 3) / 2 + 1 = 4 by 7 - 3 + 1 = 5, of 5 channels.
  CHECK(made.at("conv").axes == std::vector<Axis>{{Role::height, 4}, {Role::width, 5}, {Role::features, 5}});
  CHECK(made.at("norm").axes == std::vector<Axis>{{Role::rows, 20}, {Role::features, 5}});
  CHECK(made.at("both").axes == std::vector<Axis>{{Role::rows, 20}, {Role::features, 10}});
  CHECK(made.at("picture").dtype == DType::number);
}

TEST_CASE("every tensor of the zoo has the bytes its operator states") {
  // Two independent statements: extents of attributes, and bytes that layers count from shapes of their own.
  for (const auto& family : models::catalogue()) {
    const graph::OpGraph graph = models::build(std::string(family.name), {});
    for (std::size_t v = 0; v < graph.size(); ++v) {
      const graph::Operator& op = graph.op(core::OpId(v));
      CAPTURE(op.name);
      const Tensor& made = graph.output(core::OpId(v));
      CHECK(made.dtype != DType::byte);
      CHECK(made.bytes(graph.element_bytes()) == op.output_bytes);
    }
  }
}

TEST_CASE("an operator known by its profile has only bytes") {
  const auto graph = support::tiny_graph(3, {});
  const Tensor made = graph.output(core::OpId(1));
  CHECK(made.dtype == DType::byte);
  CHECK(made.bytes(graph.element_bytes()) == graph.op(core::OpId(1)).output_bytes);
}
