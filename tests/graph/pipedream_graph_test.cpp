#include "penstock/graph/pipedream_graph.hpp"

#include <doctest/doctest.h>

#include <set>

#include "penstock/core/error.hpp"
#include "penstock/graph/order.hpp"

using namespace penstock;
using core::OpId;

namespace {

/// Input0 -> LSTM -> Linear, written out of order and with a stage.
const std::string kThree =
    "n2 -- LSTM(2, bias=(1, 0)) -- forward_compute_time=1.500, backward_compute_time=2.500, "
    "activation_size=[800.0; 8.0], parameter_size=400.000\n"
    "n1 -- Input0 -- forward_compute_time=9.0, backward_compute_time=0.0, activation_size=64.0, "
    "parameter_size=0.0\n"
    "n3 -- Linear(a -- b) -- forward_compute_time=1e-3, backward_compute_time=0.0, activation_size=12.0, "
    "parameter_size=8.0 -- stage_id=1\n"
    "\tn2 -- n3\n"
    "\tn1 -- n2";

std::string fault_of(std::string text, const std::string& from = "", const std::string& to = "") {
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  try {
    graph::to_op_graph(graph::parse_pipedream_graph(text, "g.txt"), "g", 1);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "no fault";
}

std::string node(const std::string& id, double ms, double bytes, const std::string& what = "Layer") {
  return id + " -- " + what + " -- forward_compute_time=" + std::to_string(ms) +
         ", backward_compute_time=0.0, activation_size=" + std::to_string(bytes) + ", parameter_size=0.0\n";
}
std::string edge(const std::string& from, const std::string& to) {
  return "\t" + from + " -- " + to + "\n";
}

std::set<std::string> names(const graph::PipedreamGraph& graph) {
  std::set<std::string> out;
  for (const auto& node : graph.nodes) out.insert(node.id);
  return out;
}
std::set<std::string> links(const graph::PipedreamGraph& graph) {
  std::set<std::string> out;
  for (const auto& [from, to] : graph.edges) out.insert(graph.nodes[from].id + graph.nodes[to].id);
  return out;
}

/// Layers in a row, each with a state without a reader, and a vector all of them are handed by a view.
graph::PipedreamGraph recurrent(int layers) {
  std::string nodes = node("h", 0, 0), edges;
  for (int i = 0; i < layers; ++i) {
    const std::string n = std::to_string(i);
    nodes += node("l" + n, 1, 8) + node("s" + n, 0, 4) + node("v" + n, 0, 0);
    edges += edge("l" + n, "s" + n) + edge("h", "v" + n) + edge("v" + n, "l" + n);
    if (i > 0) edges += edge("l" + std::to_string(i - 1), "l" + n);
  }
  return graph::parse_pipedream_graph(nodes + edges, "g.txt");
}

std::size_t downsets(const graph::PipedreamGraph& graph, std::size_t most) {
  std::size_t count = 0;
  const auto model = graph::to_op_graph(graph, "g", 1);
  graph::for_each_downset(
      model.dag(), [&](const std::vector<bool>&) { return ++count < most; }, most);
  return count;
}

}  // namespace

TEST_CASE("a layer without work joins its only neighbour, where that costs no cut") {
  using Names = std::set<std::string>;
  //  i --> a --> b --> e        b reads 8 bytes and makes 9; c has no reader; d adds two tensors up
  //        | \--> c
  //        \---> d --> f        d reads 8 + 8 bytes and makes 8
  //  i2 ---------/
  const std::string text = node("i", 0, 4, "Input0") + node("i2", 1, 8) + node("a", 1, 8) + node("b", 0, 9) +
                           node("c", 0, 1) + node("d", 0, 8) + node("e", 1, 1) + node("f", 1, 1) +
                           edge("i", "a") + edge("a", "b") + edge("b", "e") + edge("a", "c") +
                           edge("a", "d") + edge("d", "f") + edge("i2", "d");
  const auto merged = graph::without_idle(graph::parse_pipedream_graph(text, "g.txt"));
  CHECK(names(merged) == Names{"i", "i2", "a", "d", "e", "f"});
  CHECK(links(merged) == Names{"ia", "ae", "ad", "i2d", "df"});
  CHECK(merged.is_input(0));
  // with weights it has a device to be on
  std::string heavy = text;
  const std::size_t weights = heavy.find("parameter_size=0.0", heavy.find("c -- Layer"));
  heavy.replace(weights, 18, "parameter_size=4.0");
  CHECK(names(graph::without_idle(graph::parse_pipedream_graph(heavy, "g.txt"))).contains("c"));
}

TEST_CASE("a recurrent net whose states have no reader has few downsets again") {
  constexpr std::size_t kPipers = 40'000;
  CHECK(downsets(recurrent(16), kPipers + 1) > kPipers);
  const auto merged = graph::without_idle(recurrent(16));
  CHECK(merged.nodes.size() == 17);  // the layers, and the vector, which many read
  CHECK(downsets(merged, kPipers + 1) < 40);
}

TEST_CASE("a profile is read as it is written, lists summed") {
  const auto g = graph::parse_pipedream_graph(kThree, "g.txt");
  REQUIRE(g.nodes.size() == 3);
  CHECK(g.nodes[0].id == "n2");
  CHECK(g.nodes[0].description == "LSTM(2, bias=(1, 0))");
  CHECK(g.nodes[0].forward_ms == 1.5);
  CHECK(g.nodes[0].backward_ms == 2.5);
  CHECK(g.nodes[0].activation_bytes == 808);
  CHECK(g.nodes[2].description == "Linear(a -- b)");
  CHECK(g.nodes[2].line == 3);
  CHECK(g.edges == std::vector<std::pair<std::size_t, std::size_t>>{{0, 2}, {1, 0}});
  CHECK(g.is_input(1));
  CHECK_FALSE(g.is_input(0));
}

TEST_CASE("conversion to a model: inputs first, sizes per sample rounded up, weights as numbers") {
  const auto model = graph::to_op_graph(graph::parse_pipedream_graph(kThree, "g.txt"), "three", 100);
  REQUIRE(model.size() == 3);
  CHECK(model.op(OpId(0)).name == "n1");
  CHECK(model.op(OpId(0)).kind == graph::OpKind::input);
  CHECK(model.op(OpId(0)).saved_bytes == core::Bytes(0));
  CHECK(model.op(OpId(1)).kind == graph::OpKind::profiled);
  CHECK(model.op(OpId(1)).output_bytes == core::Bytes(9));  // 808 / 100
  CHECK(model.op(OpId(1)).saved_bytes == core::Bytes(9));
  CHECK(model.op(OpId(1)).parameters == 100);  // 400 bytes of fp32
  CHECK(model.dag().has_edge(1, 2));
}

TEST_CASE("errors name the line") {
  CHECK(fault_of(kThree) == "no fault");
  CHECK(fault_of(kThree, "=1.500", "=one") ==
        "g.txt:1: forward_compute_time: expected a number from 0 to 1e+15, found 'one'");
  CHECK(fault_of(kThree, "=1.500", "=-1").find("g.txt:1: forward_compute_time") == 0);
  CHECK(fault_of(kThree, "=1.500", "=nan").find("expected a number") != std::string::npos);
  CHECK(fault_of(kThree, "=1.500", "=1e10") == "no fault");
  CHECK(fault_of(kThree, "=1.500", "=1.1e10").find("g.txt:1: forward_compute_time: expected at most") == 0);
  CHECK(fault_of(kThree, "[800.0; 8.0]", "[]").find("g.txt:1: activation_size") == 0);
  CHECK(fault_of(kThree, "[800.0; 8.0]", "[800.0; 8.0").find("expected one number") != std::string::npos);
  CHECK(fault_of(kThree, "[800.0; 8.0]", "[1e15; 1]").find("expected a sum of at most") != std::string::npos);
  CHECK(fault_of(kThree, "=400.000", "=[4; 4]") == "g.txt:1: parameter_size: expected one number");
  CHECK(fault_of(kThree, "=400.000", "=402") == "g.txt:1: parameter_size: expected whole numbers of 4 bytes");
  CHECK(fault_of(kThree, "activation_size", "activations").find("expected activation_size=<number>") !=
        std::string::npos);
  CHECK(fault_of(kThree, "stage_id=1", "stage=1").find("g.txt:3: stage_id") == 0);
  CHECK(fault_of(kThree, "n3 -- Lin", "n2 -- Lin") == "g.txt:3: n2: the node appears twice");
  CHECK(fault_of(kThree, "n2 -- n3", "n2 -- n4") == "g.txt:4: n4: the edge names a node that does not exist");
  CHECK(fault_of(kThree, "n2 -- n3", "n2").find("g.txt:4: expected an edge") == 0);
  CHECK(fault_of(kThree, "\tn2 -- n3", "\tn3 -- n2\n\tn2 -- n3") ==
        "g.txt:1: n2: the node is on a cycle, or after one");
  CHECK(fault_of(kThree, "\tn2 -- n3", "n2 -- n3").find("g.txt:4: expected a node") == 0);
  CHECK(fault_of("") == "g.txt: expected at least one node");
}
