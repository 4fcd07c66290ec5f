#include "penstock/graph/in_place.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "models/layers.hpp"

using namespace penstock;
using models::Activation;
using models::Layers;

namespace {

core::OpId named(const graph::OpGraph& graph, const std::string& name) {
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(core::OpId(v)).name == name) return core::OpId(v);
  FAIL("no operator " << name);
  return core::OpId(0);
}

/// The name of what an operator's output lies on, or "-".
std::string under(const graph::OpGraph& graph, const std::string& name) {
  const auto found = graph::lies_on(graph, named(graph, name));
  return found ? graph.op(*found).name : "-";
}

}  // namespace

TEST_CASE("a sum lies on its latest term that no other operator reads and no gradient needs") {
  Layers net("sums");
  const auto x = net.linear("x", net.input("in", {4, 8}), 8);
  const auto wide = net.linear("wide", net.layer_norm("norm", x), 8);
  const auto residual = net.add("residual", {x, wide});  // x is read twice
  const auto curved = net.linear("curved", residual, 8, {.fused = Activation::gelu});
  const auto kept = net.add("kept", {residual, curved});  // gelu needs its input, tanh its output
  const auto square = net.linear("square", kept, 8);
  CHECK(!net.spent(square));
  net.add("twice", {square, square});
  CHECK(!net.spent(square));  // one tensor, two terms
  CHECK(net.spent(wide));
  const graph::OpGraph graph = net.build();
  CHECK(under(graph, "residual") == "wide");
  CHECK(graph.op(named(graph, "residual")).saved_bytes == core::Bytes(0));
  CHECK(under(graph, "kept") == "-");
  CHECK(graph.op(named(graph, "kept")).saved_bytes == core::Bytes(4 * 4 * 8));
  CHECK(under(graph, "twice") == "-");
  CHECK(under(graph, "wide") == "-");
}

TEST_CASE("a sum does not lie on a term that others read too") {
  Layers net("shared");
  const auto in = net.input("in", {4, 8});
  const auto a = net.linear("a", in, 8), b = net.linear("b", in, 8);
  net.linear("c", b, 8);
  net.add("sum", {a, b});
  CHECK(under(net.build(), "sum") == "a");
}

TEST_CASE("a term that a sum was written over is not read again") {
  Layers net("spent");
  const auto x = net.input("in", {4, 8});
  const auto a = net.linear("a", x, 8), b = net.linear("b", x, 8);
  net.add("sum", {a, b});
  CHECK_THROWS(net.linear("c", b, 8));
  CHECK_NOTHROW(net.linear("d", a, 8));
}

TEST_CASE("the sums of a Transformer's layer keep nothing: their terms are freed") {
  for (const char* model : {"gpt", "llama", "opt"}) {
    CAPTURE(model);
    const auto graph = models::build(model, {{"layers", "1"}});
    for (std::size_t v = 0; v < graph.size(); ++v) {
      const graph::Operator& op = graph.op(core::OpId(v));
      if (op.name.starts_with("layer0.add")) CHECK(op.saved_bytes == core::Bytes(0));
    }
  }
}
