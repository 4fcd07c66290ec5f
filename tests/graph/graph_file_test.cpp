#include "penstock/graph/graph_file.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/graph/canonical.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "src/graph/model_json.hpp"
#include "support/random_attributes.hpp"
#include "support/random_graph.hpp"

using namespace penstock;
using core::OpId;
using graph::Operator;
using graph::OpGraph;

namespace {

/// Shapes exclude random counts.
bool counted(const Operator& op) {
  return op.attributes.index() != 0;
}

/// The operator's shape may state how much work it is.
bool multiplies(const Operator& op) {
  using graph::OpKind;
  return op.kind == OpKind::linear || op.kind == OpKind::matmul || op.kind == OpKind::convolution ||
         op.kind == OpKind::experts || op.kind == OpKind::scan || op.kind == OpKind::short_convolution;
}

/// A random graph with awkward names and numbers in every field.
OpGraph random_model(std::uint64_t seed) {
  constexpr std::array<const char*, 6> kNames = {"fc",          "a: b #", "\"quoted\"",
                                                 "back\\slash", "~",      "\u00e9\n\t*&"};
  core::Random random(seed);
  graph::GraphBuilder builder("net \"" + std::to_string(seed) + "\"", random.between(1, 8));
  const auto dag = test::random_dag(random, random.between(1, 12), 0.3);
  for (std::size_t v = 0; v < dag.size(); ++v) {
    Operator op;
    op.name = std::string(kNames[v % kNames.size()]) + (v < kNames.size() ? "" : std::to_string(v));
    op.kind =
        static_cast<graph::OpKind>(random.between(0, static_cast<int>(graph::OpKind::short_convolution)));
    if (v > 0 && random.chance(0.7)) op.attributes = test::random_attributes(random, op.kind);
    if (!multiplies(op)) {
      op.forward_flops = core::Flops(random.unit() * 1e20);
      op.input_gradient_flops = core::Flops(random.unit() * 1e-3);
      op.weight_gradient_flops = core::Flops(random.between(0, 9));
    }
    if (op.kind == graph::OpKind::attention) {  // its core
      const auto& a = graph::as<graph::Attention>(op);
      op.forward_flops =
          core::Flops(std::max(1.0, 2.0 * static_cast<double>(a.queries) * static_cast<double>(a.keys) *
                                        static_cast<double>(a.inner_width() + a.result_width())));
      op.input_gradient_flops = op.weight_gradient_flops = core::Flops(0);
    }
    op.parameters = v == 0 || (!counted(op) && random.chance(0.8)) ? random.between(1, 1 << 30) : 0;
    op.gathered_parameters = random.between(0, 9);
    op.output_bytes = core::Bytes(counted(op) ? 0 : random.between(0, 1 << 30));
    op.saved_bytes = core::Bytes(1'000'000'000'000'000);
    std::vector<OpId> inputs;
    for (auto p : dag.predecessors(static_cast<graph::Vertex>(v)))
      inputs.insert(inputs.begin(), OpId(static_cast<std::size_t>(p)));
    if (!inputs.empty() && random.chance(0.3)) inputs.push_back(inputs.front());
    if (op.parameters == 0 && v > 0) op.parameters_of = kNames[0];
    builder.add(op, inputs);
  }
  return graph::canonical(builder.build());
}

bool same(const Operator& a, const Operator& b) {
  return a.name == b.name && a.kind == b.kind && a.attributes == b.attributes &&
         a.forward_flops == b.forward_flops && a.input_gradient_flops == b.input_gradient_flops &&
         a.weight_gradient_flops == b.weight_gradient_flops && a.parameters == b.parameters &&
         a.parameters_of == b.parameters_of && a.gathered_parameters == b.gathered_parameters &&
         a.output_bytes == b.output_bytes && a.saved_bytes == b.saved_bytes;
}

void check_same(const OpGraph& a, const OpGraph& b) {
  CHECK(a.name() == b.name());
  CHECK(a.element_bytes() == b.element_bytes());
  CHECK(a.dag().edges() == b.dag().edges());
  REQUIRE(a.size() == b.size());
  CHECK(a.operands_ordered() == b.operands_ordered());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(same(a.op(OpId(i)), b.op(OpId(i))));
    CHECK(a.operands(OpId(i)) == b.operands(OpId(i)));
    CHECK(a.owner(OpId(i)) == b.owner(OpId(i)));
  }
}

/// Message about a model whose operators are the given YAML lines, which start on line 6.
std::string fault_of(const std::string& operators,
                     const std::string& head = "penstock: model\nversion: 1\n") {
  try {
    graph::parse_graph(head + "name: m\nelement_bytes: 4\noperators:\n" + operators, "m.yaml");
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "no fault";
}

/// Behind a file of JSON: YAML takes it, JSON does not.
const std::string kNoJson = "  # a comment";

/// The graph, or what is wrong.
std::string outcome(const std::string& text) {
  try {
    return graph::to_json(graph::parse_graph(text, "m.json"));
  } catch (const core::BadInput& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("a graph survives its file form") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const OpGraph model = random_model(seed);
    const std::string text = graph::to_json(model);
    const OpGraph back = graph::parse_graph(text, "m.json");
    check_same(back, model);
    CHECK(graph::to_json(back) == text);
  }
}

TEST_CASE("a model file is read from disk") {
  const auto path = (std::filesystem::temp_directory_path() / "penstock_graph_file_test.json").string();
  core::write_file(path, graph::to_json(random_model(7)));
  check_same(graph::load_graph(path), random_model(7));
  std::filesystem::remove(path);
  CHECK_THROWS_AS(graph::load_graph(path), core::BadInput);
}

TEST_CASE("a file of JSON is read in one pass, and as YAML reads it") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::string text = graph::to_json(random_model(seed));
    CHECK(graph::read_model_json(text));
    check_same(graph::parse_graph(text, "m.json"), graph::parse_graph(text + kNoJson, "m.json"));
  }
}

TEST_CASE("a wrong file has equal errors as JSON and as YAML") {
  const std::string whole =
      "{\"penstock\": \"model\", \"version\": 1, \"name\": \"m\", \"element_bytes\": 4,\n"
      "\"operators\": [\n{\"name\": \"a\", \"kind\": \"input\"},\n"
      "{\"name\": \"b\", \"kind\": \"pool\", \"inputs\": [\"a\"], \"shape\": {\"channels\": 3}, "
      "\"forward_flops\": 1.5, \"parameters\": 2}\n]}";
  CHECK(graph::read_model_json(whole));
  const std::pair<const char*, const char*> changes[] = {
      {"model", "plan"},
      {"\"version\": 1", "\"version\": 3"},
      {"\"parameters\"", "\"parameters_of\""},
      {"\"parameters\": 2", "\"parameters_of\": \"a\""},
      {"\"version\": 1, ", ""},
      {": \"m\"", ": \"\""},
      {": 4", ": 17"},
      {": 4", ": 4.0"},
      {"\"a\",", "\"b\","},
      {"[\"a\"]", "[\"c\"]"},
      {"[\"a\"]", "[\"b\"]"},
      {"[\"a\"]", "\"a\""},
      {"[\"a\"]", "[[\"a\"]]"},
      {"pool", "pol"},
      {"\"kind\": \"pool\", ", ""},
      {"\"inputs\"", "\"kind\""},
      {"\"channels\": 3", "\"channels\": -3"},
      {"\"channels\": 3", "\"channels\": 3, \"channels\": 4"},
      {"\"channels\": 3", "\"channels\": null"},
      {"1.5", "-1.5"},
      {"1.5", "1e31"},
      {"1.5", "\"1.5\""},
      {"parameters", "params"},
      {": 2}", ": 2e3}"},
      {": 2}", ": 99999999999999999999}"},
      {": 2}", ": true}"},
      {"]}", "]"},
      {"]}", "], \"operators\": []}"},
      {"\"a\"", "\"\\u0041\""},
      {"\"m\"", "\"\xff\""}};
  std::size_t refused = 0;
  for (const auto& [from, to] : changes) {
    std::string text = whole;
    text.replace(text.find(from), std::string(from).size(), to);
    CAPTURE(text);
    CHECK(outcome(text) == outcome(text + kNoJson));
    refused += outcome(text) != outcome(whole);
  }
  CHECK(refused >= 24);
}

TEST_CASE("operators may come in any order; zero values may be left out") {
  const auto g = graph::parse_graph(
      "penstock: model\nversion: 1\nname: m\nelement_bytes: 2\noperators:\n"
      "  - {name: y, kind: linear, inputs: [x], parameters: 12, shape: {in: 3, out: 4}}\n"
      "  - {name: x, kind: input}\n",
      "m.yaml");
  CHECK(g.op(OpId(0)).name == "x");
  CHECK(g.op(OpId(1)).attributes == graph::Attributes(graph::Linear{.in = 3, .out = 4}));
  CHECK(g.parameters() == 12);
  CHECK(g.dag().has_edge(0, 1));
}

TEST_CASE("faults name file, line and key") {
  CHECK(fault_of("  - {name: a, kind: input}\n") == "no fault");
  CHECK(fault_of("  - {name: a, kind: input}\n  - {name: a, kind: input}\n") ==
        "m.yaml:7: operators[1].name: a second operator named 'a'");
  const auto heads = [](const char* shape) {
    return fault_of(std::string("  - {name: a, kind: attention, shape: {hidden: 64, ") + shape + "}}\n");
  };
  CHECK(heads("heads: 8, kv_heads: 2") == "no fault");
  CHECK(heads("heads: 0") == "no fault");  // of which only costs that need heads complain
  for (const char* wrong :
       {"heads: 8, kv_heads: 3", "heads: 8, kv_heads: 16", "heads: 8, kv_heads: 0", "heads: 0, kv_heads: 1"})
    CHECK(heads(wrong).find("kv_heads: expected a divisor of the ") != std::string::npos);
  CHECK(fault_of("  - {name: a, kind: lineer}\n")
            .starts_with("m.yaml:6: operators[0].kind: unknown operator kind 'lineer'"));
  CHECK(fault_of("  - {name: a, kind: input, inputs: [b]}\n") ==
        "m.yaml:6: operators[0].inputs[0]: no operator is named 'b'");
  CHECK(fault_of("  - {name: a, kind: pool, inputs: [b]}\n  - {name: b, kind: pool, inputs: [a]}\n") ==
        "m.yaml:6: operators: model m: the operators form a cycle: a -> b -> a");
  CHECK(fault_of("  - {name: a, kind: pool, inputs: [a]}\n").ends_with("the operators form a cycle: a -> a"));
  CHECK(fault_of("  - {name: a, kind: input, flops: 3}\n")
            .starts_with("m.yaml:6: operators[0].flops: unknown key"));
  CHECK(fault_of("  - {name: a, kind: input, name: b}\n") ==
        "m.yaml:6: operators[0].name: the key appears twice");
  CHECK(fault_of("  - {kind: input}\n") == "m.yaml:6: operators[0]: the key 'name' is missing");
  CHECK(fault_of("  - {name: \"\xff\", kind: input}\n") == "m.yaml:6: the line is not UTF-8 text");
  const auto shape = [](const char* kind, const char* extents) {
    return fault_of(fmt::format("  - {{name: a, kind: {}, shape: {{{}}}}}\n", kind, extents));
  };
  CHECK(shape("linear", "out: 2, in: 3, tanh: 1, bias: 0") == "no fault");
  CHECK(shape("linear", "in: 3, uot: 4") ==
        "m.yaml:6: operators[0].shape.uot: no extent of kind linear; did you mean 'out'?");
  CHECK(
      shape("profiled", "in: 3").starts_with("m.yaml:6: operators[0].shape.in: no extent of kind profiled"));
  CHECK(shape("linear", "bias: 2") == "m.yaml:6: operators[0].shape.bias: 2 is not from 0 to 1");
  CHECK(shape("linear", "relu: 1, tanh: 1") == "m.yaml:6: operators[0].shape.tanh: there is another one");
  CHECK(shape("linear", "swiglu: 1").starts_with("m.yaml:6: operators[0].shape.swiglu: no extent of"));
  CHECK(shape("concat", "parts: 2, part1: 5, part0: 4, rows: 3") == "no fault");
  CHECK(shape("concat", "parts: 1, part1: 5").starts_with("m.yaml:6: operators[0].shape.part1: no extent"));
  CHECK(shape("concat", "parts: 4097") == "m.yaml:6: operators[0].shape.parts: 4097 is more than 4096");
  CHECK(fault_of("  []\n").starts_with("m.yaml:6: operators: model m: there are no operators"));
  CHECK(fault_of("  - {name: a, kind: input}\n", "penstock: plan\nversion: 1\n") ==
        "m.yaml:1: penstock: expected 'model'");
  CHECK(fault_of("  - {name: a, kind: input}\n", "penstock: model\nversion: 3\n") ==
        "m.yaml:2: version: expected a whole number from 1 to 2, found '3'");
}

TEST_CASE("FLOPs that a product's shape contradicts are refused with both numbers") {
  const auto with = [](const char* kind, const char* shape, const char* work) {
    return fault_of(fmt::format("  - {{name: a, kind: {}, shape: {{{}}}, {}}}\n", kind, shape, work));
  };
  const char* layer = "rows: 10, in: 8, out: 16, bias: 1";  // 10 x 8 x 16 multiplications
  CHECK(with("linear", layer,
             "forward_flops: 2560, input_gradient_flops: 2560, weight_gradient_flops: 2720") == "no fault");
  CHECK(
      with("linear", layer, "forward_flops: 1280") ==
      "m.yaml:6: operators[0].forward_flops: the shape of linear 'a' gives 2560 FLOPs for a sample, two for "
      "each multiplication, found 1280");
  CHECK(
      with("linear", layer, "forward_flops: 2560, weight_gradient_flops: 25600")
          .starts_with("m.yaml:6: operators[0].weight_gradient_flops: the shape of linear 'a' gives 2560 "));
  CHECK(with("linear", "in: 8, out: 16", "forward_flops: 1") == "no fault");  // of how many rows?
  const char* product = "batch: 2, rows: 30, inner: 40, columns: 50";
  CHECK(with("matmul", product, "forward_flops: 240000, input_gradient_flops: 480000") == "no fault");
  CHECK(with("matmul", product, "forward_flops: 240000, input_gradient_flops: 240000") == "no fault");
  CHECK(with("matmul", product, "forward_flops: 480000")
            .ends_with("gives 240000 FLOPs for a sample, two for "
                       "each multiplication, found 480000"));
  CHECK(with("experts", "rows: 10, hidden: 100, inner: 300, experts: 8, chosen: 2, gated: 1",
             "forward_flops: 3.6e6") == "no fault");
  CHECK(with("experts", "rows: 10, hidden: 100, inner: 300, experts: 8, chosen: 2, gated: 1",
             "forward_flops: 14.4e6")
            .find("experts 'a' gives 3.6e+06 FLOPs") != std::string::npos);
  // Scores and sums of 6 x 6 pairs with width 8, and four projections of 6 x 8 x 8.
  const char* heads = "queries: 6, keys: 6, hidden: 8, heads: 2, key_width: 8, value_width: 8";
  CHECK(with("attention", heads,
             "forward_flops: 4224, input_gradient_flops: 5376, weight_gradient_flops: 3072") == "no fault");
  CHECK(with("attention", heads, "forward_flops: 1152") == "no fault");  // without projections
  for (const char* wrong : {"forward_flops: 0", "forward_flops: 500", "forward_flops: 100000"})
    CHECK(with("attention", heads, wrong).find("attention 'a' gives 4224 FLOPs") != std::string::npos);
  // 8 x 8 outputs of 3 x 3 windows, of which 22 x 22 positions lie in the image.
  const char* slide =
      "in: 5, out: 70, height: 8, width: 8, kernel_height: 3, kernel_width: 3, stride_height: 1, "
      "stride_width: "
      "1, padding_height: 1, padding_width: 1";
  for (const int work : {2 * 350 * 64 * 9, 2 * 350 * 22 * 22})
    CHECK(with("convolution", slide, fmt::format("forward_flops: {}", work).c_str()) == "no fault");
  for (const int work : {350 * 64 * 9, 4 * 350 * 64 * 9})
    CHECK(with("convolution", slide, fmt::format("forward_flops: {}", work).c_str())
              .find("convolution 'a' gives 403200 FLOPs") != std::string::npos);
}

TEST_CASE("parameters and output bytes that a shape contradicts are refused with both numbers") {
  const auto with = [](const char* kind, const char* shape, const char* counts) {
    return fault_of(fmt::format("  - {{name: a, kind: {}, shape: {{{}}}, {}}}\n", kind, shape, counts),
                    "penstock: model\nversion: 2\n");
  };
  const auto fits = [&](const char* kind, const char* shape, std::initializer_list<const char*> all) {
    for (const char* counts : all) CHECK_MESSAGE(with(kind, shape, counts) == "no fault", kind, " ", counts);
  };
  const auto refused = [&](const char* kind, const char* shape, const char* counts, const char* why) {
    CHECK_MESSAGE(with(kind, shape, counts).find(why) != std::string::npos, with(kind, shape, counts));
  };
  // 8 x 16 weights, 16 biases; 10 x 16 numbers of 4 bytes. Weights or biases may be frozen.
  const char* layer = "rows: 10, in: 8, out: 16, bias: 1";
  CHECK(with("linear", layer, "parameters: 1440") ==
        "m.yaml:6: operators[0].parameters: the shape of linear 'a' gives 144 parameters, found 1440");
  CHECK(with("linear", layer, "parameters: 144, output_bytes: 160") ==
        "m.yaml:6: operators[0].output_bytes: the shape of linear 'a' gives 640 output bytes for a sample, 4 "
        "for each number, found 160");
  fits("linear", layer,
       {"parameters: 144, output_bytes: 640", "parameters: 128", "parameters: 16", "frozen_parameters: 128",
        "output_bytes: 320", "output_bytes: 1280"});
  refused("linear", layer, "frozen_parameters: 145", "[0].frozen_parameters: the shape of linear");
  refused("linear", "rows: 10, in: 8, out: 16", "parameters: 144", "gives 128 parameters");
  fits("linear", "in: 8", {"parameters: 7, output_bytes: 7"});  // to how many?
  const char* product = "batch: 2, rows: 30, inner: 40, columns: 50";
  fits("matmul", product, {"output_bytes: 12000", "parameters: 4000"});  // a batch of 40 x 50 weights
  refused("matmul", product, "parameters: 4001", "matmul 'a' gives at most 4000 parameters, found 4001");
  refused("matmul", product, "output_bytes: 6001", "gives 12000 output bytes");
  // 70 x 5 windows of 3 x 3, and 8 x 8 outputs of each of 70 channels.
  const char* slide =
      "in: 5, out: 70, height: 8, width: 8, kernel_height: 3, kernel_width: 3, stride_height: 1, "
      "stride_width: 1, padding_height: 1, padding_width: 1, bias: 1";
  fits("convolution", slide, {"parameters: 3220, output_bytes: 17920"});
  refused("convolution", slide, "parameters: 350", "gives 3220 parameters");
  refused("convolution", slide, "output_bytes: 280", "gives 17920 output bytes");
  // 8 experts of three 100 x 300 matrices, with biases of 300, 300 and 100.
  const char* mixture = "rows: 10, hidden: 100, inner: 300, experts: 8, chosen: 2, gated: 1, bias: 1";
  fits("experts", mixture, {"parameters: 725600, output_bytes: 4000", "parameters: 720000"});
  refused("experts", mixture, "parameters: 90000", "gives 725600 parameters");
  refused("experts", mixture, "output_bytes: 8001", "gives 4000 output bytes");
  fits("embedding", "lookups: 6, rows: 90, width: 8", {"parameters: 720, output_bytes: 192"});
  refused("embedding", "lookups: 6, rows: 90, width: 8", "parameters: 90", "gives 720 parameters");
  fits("embedding", "lookups: 6, rows: 90, width: 8, sum: 1", {"output_bytes: 32"});
  // Four 8 x 8 projections, four biases, norms of queries and keys with biases.
  const char* heads = "queries: 6, keys: 6, hidden: 8, heads: 2, key_width: 8, value_width: 8";
  const char* core = "forward_flops: 1152, parameters: 320, output_bytes: 192";
  fits("attention", heads, {core, "forward_flops: 1152, parameters: 64"});  // some projections are elsewhere
  refused("attention", heads, "forward_flops: 1152, parameters: 321", "gives at most 320 parameters");
  refused("attention", heads, "forward_flops: 1152, output_bytes: 48", "gives 192 output bytes");
  for (const char* kind : {"norm", "activation", "elementwise", "pool", "concat"}) {
    fits(kind, "elements: 12", {"output_bytes: 48", "output_bytes: 24"});
    refused(kind, "elements: 12", "output_bytes: 12", "gives 48 output bytes");
  }
  refused("softmax", "rows: 3, width: 4", "output_bytes: 12", "gives 48 output bytes");
  fits("input", "elements: 12", {"output_bytes: 12"});
  // A matrix of queries, keys and values in one, which three products use.
  const auto packed = [](const char* parameters) {
    return fault_of(
        fmt::format("  - {{name: q, kind: linear, shape: {{in: 8, out: 8, bias: 1}}, parameters: {}}}\n"
                    "  - {{name: k, kind: linear, shape: {{in: 8, out: 8}}, parameters_of: q}}\n",
                    parameters),
        "penstock: model\nversion: 2\n");
  };
  CHECK(packed("216") == "no fault");
  CHECK(packed("217").starts_with("m.yaml:6: operators[0].parameters: the shape of linear 'q' gives 72 "));
  // JSON is read another way.
  CHECK(
      outcome(
          R"({"penstock": "model", "version": 2, "name": "m", "element_bytes": 4, "operators": [)"
          R"({"name": "a", "kind": "linear", "shape": {"rows": 1, "in": 8, "out": 16}, "parameters": 512}]})")
          .find("linear 'a' gives 128 parameters, found 512") != std::string::npos);
}

TEST_CASE("parameters are used of an operator that comes before, has some, and is named") {
  const auto second = [](const std::string& operators) {
    return fault_of(operators, "penstock: model\nversion: 2\n");
  };
  const std::string table = "  - {name: table, kind: embedding, parameters: 6}\n";
  CHECK(second(table + "  - {name: head, kind: linear, parameters_of: table}\n") == "no fault");
  for (const char* fault : {"parameters_of: tabel", "parameters_of: head", "parameters_of: x"})
    CHECK(second("  - {name: x, kind: input}\n" + table + "  - {name: head, kind: linear, " + fault + "}\n")
              .ends_with("none before it has that name and any"));
  // "Before" is about operands: a file lists operators in any order.
  CHECK(second("  - {name: head, kind: linear, parameters_of: table}\n" + table) == "no fault");
  CHECK(second("  - {name: head, kind: linear, parameters_of: table}\n"
               "  - {name: table, kind: embedding, parameters: 6, inputs: [head]}\n")
            .ends_with("none before it has that name and any"));
  CHECK(second(table + "  - {name: head, kind: linear, parameters: 1, parameters_of: table}\n") ==
        "m.yaml:6: operators: model m: operator 'head' uses the parameters of 'table', and has its own");
  CHECK(fault_of(table + "  - {name: head, kind: linear, parameters_of: table}\n") ==
        "m.yaml:7: operators[1].parameters_of: a key of version 2");
}

TEST_CASE("a file of version 1 ties a matrix without parameters to the first of its size, and has no order") {
  const std::string operators =
      "  - {name: small, kind: linear, shape: {in: 2, out: 2}, parameters: 4}\n"
      "  - {name: table, kind: embedding, shape: {rows: 3, width: 2}, parameters: 6}\n"
      "  - {name: other, kind: linear, shape: {in: 2, out: 3}, parameters: 6}\n"
      "  - {name: head, kind: linear, shape: {in: 2, out: 3}, weight_gradient_flops: 1, inputs: [other, "
      "table]}\n";
  const auto graph = [&](const char* version) {
    return graph::parse_graph(std::string("penstock: model\nversion: ") + version +
                                  "\nname: m\nelement_bytes: 4\noperators:\n" + operators,
                              "m.yaml");
  };
  // other, table, head, small: depth first from the outputs, these by name.
  CHECK(graph("1").owner(OpId(2)) == OpId(0));
  CHECK_FALSE(graph("1").operands_ordered());
  CHECK(graph("2").owner(OpId(2)) == OpId(2));
  CHECK(graph("2").operands(OpId(2)) == std::vector<OpId>{OpId(0), OpId(1)});
}

TEST_CASE("numbers are finite and not negative") {
  const auto with = [](const std::string& field) {
    return fault_of("  - {name: a, kind: input, " + field + "}\n");
  };
  CHECK(with("forward_flops: 0.5") == "no fault");
  CHECK(with("parameters: 1000000000000000") == "no fault");
  for (const char* field :
       {"forward_flops: -1", "input_gradient_flops: .inf", "weight_gradient_flops: .nan",
        "forward_flops: 1e31", "parameters: -1", "gathered_parameters: 1.5", "output_bytes: -8",
        "kept_bytes: 1000000000000001", "output_bytes: 4KiB", "shape: {in: -1}", "shape: [1]"})
    CHECK_MESSAGE(with(field).starts_with("m.yaml:6: operators[0]."), field);
}

TEST_CASE("the picture has a box per operator and an arrow per tensor") {
  graph::GraphBuilder b("m");
  Operator x, y;
  x.name = "x";
  y.name = "say \"y\"";
  y.kind = graph::OpKind::linear;
  b.add(y, {b.add(x)});
  CHECK(graph::to_dot(b.build()) ==
        "digraph \"m\" {\n  node [shape=box];\n  0 [label=\"x\\ninput\"];\n"
        "  1 [label=\"say \\\"y\\\"\\nlinear\"];\n  0 -> 1;\n}\n");
}
