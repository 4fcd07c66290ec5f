// A whole model against finite differences of itself: gradients find their way through joins, views and ties.

#include "penstock/kernels/graph_run.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "models/catalogue.hpp"
#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/kernels/devices.hpp"
#include "penstock/kernels/values.hpp"
#include "reference.hpp"

using namespace penstock;
using kernels::Buffer;
using kernels::GraphRun;
using models::Layers;

namespace {

using Values = std::vector<double>;

struct HostDevice {
  std::unique_ptr<kernels::Backend> backend = kernels::open_device("host", 1);
  std::unique_ptr<kernels::Stream> stream = backend->make_stream();
};

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// The sum over all unread outputs of output times the gradient given for it.
double loss(HostDevice& host, const graph::OpGraph& graph, GraphRun& run) {
  run.forward(*host.stream);
  double sum = 0;
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.dag().successors(static_cast<graph::Vertex>(v)).empty())
      sum += dot(read_values(*host.backend, run.output(core::OpId(v))),
                 read_values(*host.backend, *run.output_gradient(core::OpId(v))));
  return sum;
}

Values moved(const Values& from, const Values& along, double by) {
  Values out = from;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += by * along[i];
  return out;
}

/// The slope of the loss as parameters move along `direction`, by central difference.
double slope(HostDevice& host, const graph::OpGraph& graph, GraphRun& run, Buffer& parameters,
             const Values& direction) {
  constexpr double kStep = 1e-2;
  const Values before = read_values(*host.backend, parameters);
  const auto at = [&](double by) {
    write_values(*host.backend, parameters, moved(before, direction, by));
    return loss(host, graph, run);
  };
  const double out = (at(kStep) - at(-kStep)) / (2 * kStep);
  write_values(*host.backend, parameters, before);
  return out;
}

/// Every parameter's gradient, along itself, is the loss's slope. Returns how many were looked at.
int check_gradients(const graph::OpGraph& graph, std::int64_t samples) {
  HostDevice host;
  GraphRun run(*host.backend, graph, samples, kernels::Precision::fp32, 7);
  run.zero_tables(*host.stream);
  loss(host, graph, run);
  run.backward(*host.stream);
  int checked = 0;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const core::OpId id(v);
    CAPTURE(graph.op(id).name);
    for (std::size_t i = 0; i < run.parameters(id).size(); ++i, ++checked) {
      Values direction = read_values(*host.backend, *run.parameter_gradients(id)[i]);
      const double length = std::sqrt(dot(direction, direction));
      REQUIRE(std::isfinite(length));
      for (double& d : direction) d /= length;
      const double found = slope(host, graph, run, *run.parameters(id)[i], direction);
      CHECK(std::abs(found - length) <= 1e-4 + 0.02 * length);  // the loss is rounded to fp32
    }
  }
  return checked;
}

}  // namespace

//            +-> b --+
//  x --> a --+       +--> sum --> c        a's gradient: b's, then the sum's own, are added up
//            +-------+
TEST_CASE("the gradient of a tensor with two readers is the sum of both") {
  Layers net("join");
  const auto a = net.linear("a", net.input("x", {3, 5}), 4);
  const auto sum = net.add("sum", {a, net.linear("b", a, 4, {.fused = models::Activation::tanh})});
  net.linear("c", sum, 2);
  CHECK(check_gradients(net.build(), 3) == 3);
}

// The view of all is another name; the view of a part puts its gradient among zeros. Both beside another
// reader.
TEST_CASE("gradients pass through views of a whole tensor and of its leading part") {
  Layers net("views");
  const auto a = net.linear("a", net.input("x", {4, 3}), 6);
  const auto whole = net.linear("of all", net.view("flat", a, {24}), 2);
  const auto part = net.linear("of a part", net.view("first", a, {6}), 2);
  net.add("sum", {whole, part, net.linear("b", net.view("flat again", a, {24}), 2)});
  CHECK(check_gradients(net.build(), 2) == 4);
}

TEST_CASE("a view's gradient is added where its tensor has one already") {
  Layers net("late view");
  const auto a = net.linear("a", net.input("x", {4, 3}), 6);
  const auto view = net.view("flat", a, {24});
  const auto direct = net.linear("direct", a, 6);
  net.concat("both", {net.linear("b", view, 12), net.linear("c", net.flatten("flat c", direct), 12)});
  CHECK(check_gradients(net.build(), 2) == 4);
}

// Written out: queries are the decoder's tokens, keys the encoder's, even if there are as many.
TEST_CASE("cross attention of a translator is what the reference makes of decoder, encoder, encoder") {
  const auto graph = models::build("encoder_decoder", {{"layers", "1"},
                                                       {"hidden", "8"},
                                                       {"heads", "2"},
                                                       {"feed_forward", "8"},
                                                       {"vocabulary", "11"},
                                                       {"source_length", "3"},
                                                       {"target_length", "3"}});
  HostDevice host;
  GraphRun run(*host.backend, graph, 2, kernels::Precision::fp32, 7);
  run.forward(*host.stream);
  const auto named = [&](const std::string& name) {
    std::size_t v = 0;
    while (graph.op(core::OpId(v)).name != name) ++v;
    return core::OpId(v);
  };
  const auto values = [&](core::OpId id) { return read_values(*host.backend, run.output(id)); };
  const core::OpId cross = named("decoder0.cross");
  const Values said = values(named("decoder0.self.norm")), memory = values(named("encoder0.feed.norm"));
  reference::Operands operands{{said, memory, memory}, {}};
  for (Buffer* parameter : run.parameters(cross))
    operands.parameters.push_back(read_values(*host.backend, *parameter));
  const Values expected = reference::forward(graph.op(cross), 2, operands), found = values(cross);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(found[i] - expected[i]) < 1e-5);
}

// The table is read by look-up and again as the weights of the last layer: one gradient of two terms.
TEST_CASE("tied operators share parameters and add to one gradient") {
  Layers net("tied");
  const auto x = net.embedding("table", net.indices("rows", 4), {.rows = 11, .width = 3});
  net.linear("head", net.linear("middle", x, 3, {.bias = true}), 11, {.parameters_of = "table"});
  const graph::OpGraph graph = net.build();
  CHECK(check_gradients(graph, 2) == 4);  // table, weights, bias, and the table again
  HostDevice host;
  const GraphRun run(*host.backend, graph, 2, kernels::Precision::fp32, 1);
  CHECK(run.parameters(core::OpId(1)) == run.parameters(core::OpId(3)));
}

TEST_CASE("only what training needs is run") {
  Layers net("first layers");
  const auto x = net.input("x", {8});
  const auto relu = net.activation("before", x, models::Activation::relu);
  net.activation("after", net.linear("a", relu, 4), models::Activation::relu);
  const graph::OpGraph graph = net.build();
  HostDevice host;
  const GraphRun run(*host.backend, graph, 1, kernels::Precision::fp32, 1);
  CHECK_FALSE(run.runs(core::OpId(0), graph::Pass::forward));         // an input
  CHECK_FALSE(run.runs(core::OpId(1), graph::Pass::input_gradient));  // nothing above is trained
  CHECK_FALSE(run.runs(core::OpId(2), graph::Pass::input_gradient));
  CHECK(run.runs(core::OpId(2), graph::Pass::weight_gradient));
  CHECK(run.runs(core::OpId(3), graph::Pass::input_gradient));
  CHECK_FALSE(run.runs(core::OpId(3), graph::Pass::weight_gradient));
  CHECK(run.output_gradient(core::OpId(1)) == nullptr);
}

TEST_CASE("an attention layer learns though its input does not") {
  Layers net("attention");
  const auto x = net.input("x", {4, 6});
  net.attention("self", x, x, x, 2, {.bias = true});
  CHECK(check_gradients(net.build(), 2) == 8);
}

TEST_CASE("small models of the zoo run whole") {
  using Given = std::map<std::string, std::string>;
  const Given stack = {{"layers", "1"}, {"hidden", "16"}, {"heads", "2"}, {"vocabulary", "13"}};
  Given gpt = stack, translator = stack;
  gpt["sequence"] = "4";
  translator.insert({{"feed_forward", "8"}, {"source_length", "4"}, {"target_length", "3"}});
  CHECK(check_gradients(models::build("gpt", gpt), 1) > 10);
  CHECK(check_gradients(models::build("encoder_decoder", translator), 1) > 10);
}

TEST_CASE("operands that fit nowhere are refused") {
  Layers net("odd");
  const auto a = net.linear("a", net.input("x", {3}), 4);
  net.linear("b", a, 2);
  graph::OpGraph graph = net.build();
  graph::GraphBuilder builder("odd");
  for (std::size_t v = 0; v < graph.size(); ++v) {
    graph::Operator op = graph.op(core::OpId(v));
    if (op.name == "b") std::get<graph::Linear>(op.attributes).in = 5;
    builder.add(op, v == 0 ? std::vector<core::OpId>{} : std::vector<core::OpId>{core::OpId(v - 1)});
  }
  const graph::OpGraph broken = builder.build();
  HostDevice host;
  CHECK_THROWS_WITH_AS(GraphRun(*host.backend, broken, 1, kernels::Precision::fp32, 1),
                       "operator 'b': the output of 'a' has not the 5 elements of x", core::BadInput);
}
