#include "penstock/cost/backward_sweep.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "models/catalogue.hpp"
#include "models/layers.hpp"
#include "penstock/cost/analytic.hpp"
#include "support/random_graph.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using core::OpId;
using cost::BackwardStep;
using cost::Line;
using graph::OpKind;

namespace {

std::vector<BackwardStep> steps_of(const graph::OpGraph& g, const std::vector<OpId>& operators) {
  std::vector<BackwardStep> steps;
  for (const OpId id : operators) steps.push_back(cost::backward_step(g, cost::AnalyticCosts(), id));
  return steps;
}

std::vector<OpId> all(const graph::OpGraph& g) {
  std::vector<OpId> out;
  for (std::size_t v = 0; v < g.size(); ++v) out.emplace_back(v);
  return out;
}

graph::Operator sized(const std::string& name, OpKind kind, std::int64_t bytes, std::int64_t parameters = 0) {
  graph::Operator op;
  op.name = name;
  op.kind = kind;
  op.output_bytes = op.saved_bytes = Bytes(bytes);
  op.parameters = parameters;
  op.input_gradient_flops = core::Flops(1);
  op.weight_gradient_flops = core::Flops(parameters > 0 ? 1 : 0);
  return op;
}

/// Some weigh, some are inputs, some find gradients to hand on or want scratch. Sizes are powers of two and a
/// bit, so that no two sums are equal by chance.
graph::OpGraph random_graph(core::Random& random) {
  const auto dag = test::random_dag(random, random.between(1, 12), 0.3);
  graph::GraphBuilder builder("random");
  for (std::size_t v = 0; v < dag.size(); ++v) {
    const bool source = dag.predecessors(static_cast<graph::Vertex>(v)).empty();
    const OpKind kind = source && random.chance(0.5) ? OpKind::input
                        : random.chance(0.2)         ? OpKind::norm
                                                     : OpKind::linear;
    const int parameters = kind == OpKind::input || random.chance(0.4) ? 0 : random.between(1, 4000);
    auto op = sized("op" + std::to_string(v), kind, random.between(1, 1000), parameters);
    if (kind == OpKind::linear && random.chance(0.3))
      op.attributes = graph::Linear{.function = graph::Function::gelu};
    builder.add(op);
  }
  for (const auto& [from, to] : dag.edges())
    builder.add_edge(OpId(static_cast<std::size_t>(from)), OpId(static_cast<std::size_t>(to)));
  return builder.build();
}

/// Looks at every moment again, and checks for every tensor whether its gradient is there.
class SlowTwin {
 public:
  SlowTwin(const graph::OpGraph& g, const std::vector<BackwardStep>& steps, std::int64_t samples)
      : g_(g), steps_(steps), samples_(samples) {}

  Bytes most() const {
    Bytes most;
    for (const BackwardStep& now : steps_) {
      if (g_.op(now.op).kind == OpKind::input) continue;
      if (asks(now))
        most = std::max(most, live(now.op, false) + now.terms * samples_ + now.scratch.handed.at(samples_) +
                                  now.scratch.input_gradient.at(samples_));
      if (graph::weighs(g_.op(now.op)))
        most = std::max(most, live(now.op, true) + now.fresh + now.scratch.handed.at(samples_) +
                                  now.scratch.weight_gradient.at(samples_));
    }
    return most;
  }

 private:
  bool inside(OpId op) const {
    return std::ranges::any_of(steps_, [&](const BackwardStep& s) { return s.op == op; });
  }
  std::vector<OpId> readers(OpId op) const {
    std::vector<OpId> out;
    for (const graph::Vertex v : g_.dag().successors(static_cast<graph::Vertex>(op.index())))
      out.emplace_back(static_cast<std::size_t>(v));
    return out;
  }
  /// True if it makes gradients of its inputs.
  bool asks(const BackwardStep& step) const {
    const bool reads = !g_.dag().predecessors(static_cast<graph::Vertex>(step.op.index())).empty();
    return g_.op(step.op).kind != OpKind::input && reads;
  }

  Bytes live(OpId now, bool terms_are_there) const {
    Bytes sum;
    for (const OpId tensor : all(g_))
      if (is_there(tensor, now, terms_are_there)) sum += g_.op(tensor).output_bytes * samples_;
    return sum;
  }

  bool is_there(OpId tensor, OpId now, bool terms_are_there) const {
    if (inside(tensor)) {
      for (const OpId reader : readers(tensor))
        if (!inside(reader)) return false;  // in a buffer
      if (tensor > now) return false;       // done with
      if (tensor == now) return true;       // its own: from readers, the loss, or zeros
    }
    if (!g_.trains(tensor)) return false;
    for (const BackwardStep& step : steps_)
      if ((step.op > now || (step.op == now && terms_are_there)) && asks(step))
        for (const OpId reader : readers(tensor))
          if (reader == step.op) return true;
    return false;
  }

  const graph::OpGraph& g_;
  const std::vector<BackwardStep>& steps_;
  std::int64_t samples_;
};

}  // namespace

TEST_CASE("branches' gradients wait for the tensor they meet in") {
  // in (8 B) -> a (100 B) -> b (10 B), c (20 B) -> d (1 B), which reads b and c. All have one weight, 4 B.
  graph::GraphBuilder builder("branches");
  const OpId in = builder.add(sized("in", OpKind::input, 8));
  const OpId a = builder.add(sized("a", OpKind::linear, 100, 1), {in});
  const OpId b = builder.add(sized("b", OpKind::linear, 10, 1), {a});
  const OpId c = builder.add(sized("c", OpKind::linear, 20, 1), {a});
  builder.add(sized("d", OpKind::linear, 1, 1), {b, c});
  const auto g = builder.build();
  // d: the loss's 1 and terms of 10 and 20. c: 10 of b, its own 20, a's 100: 130, and its weight's 4 B. b:
  // 10, a's sum and another term of that, 210. a: 100 and the input's 8, which it makes though nothing
  // trains.
  CHECK(cost::backward_workspace(g, steps_of(g, all(g))).at(1) == Bytes(210));
  // c and d: at c b's 10, which stay to be sent, its own 20, a's 100, its weight's 4.
  CHECK(cost::backward_workspace(g, steps_of(g, {c, OpId(4)})).at(1) == Bytes(10 + 20 + 100 + 4));
  // a and b: both leave, and so their gradients lie in buffers; a's from c is there already.
  CHECK(cost::backward_workspace(g, steps_of(g, {a, b})).at(3) == Bytes(3 * 100));
}

TEST_CASE("a view's gradient is its tensor's; one of a part is joined with zeros") {
  // a (12 B) -> view -> d (4 B), where a and d have one weight of 4 B.
  const auto most = [](std::int64_t shown) {
    graph::GraphBuilder builder("views");
    const OpId a = builder.add(sized("a", OpKind::linear, 12, 1));
    const OpId view = builder.add(sized("view", OpKind::reshape, shown), {a});
    builder.add(sized("d", OpKind::linear, 4, 1), {view});
    auto g = builder.build();
    return cost::backward_workspace(g, steps_of(g, all(g))).at(1);
  };
  CHECK(most(12) == Bytes(4 + 12 + 4));  // d's, the view's, which is a's, and d's weight's
  CHECK(most(8) == Bytes(8 + 4 + 12));   // the view's, the rest, the whole
}

TEST_CASE("a cross entropy holds 6, 10, 2 or 12 bytes per logit of 2, as its framework's kernels do") {
  // yes and native: measured by Megatron-LM's tests (tools/measured_memory). te: read in its Triton kernels. torch:
  // summed by hand over nll_loss of log_softmax of logits.float().
  for (const auto& [kernel, bytes] :
       std::map<std::string, std::int64_t>{{"yes", 6}, {"native", 10}, {"te", 2}, {"torch", 12}}) {
    CAPTURE(kernel);
    const auto g = models::build("gpt", {{"layers", "1"},
                                         {"hidden", "8"},
                                         {"heads", "1"},
                                         {"sequence", "4"},
                                         {"vocabulary", "1000"},
                                         {"element_bytes", "2"},
                                         {"loss", kernel}});
    const OpId loss(g.size() - 1), head(g.size() - 2);
    for (const int samples : {1, 3})
      CHECK((g.op(head).saved_bytes + g.op(loss).saved_bytes) * samples +
                cost::backward_workspace(g, steps_of(g, {loss})).at(samples) ==
            Bytes(bytes * 4 * 1000 * samples));
    // With the head: the gradient of the logits is the loss's own, and the head's terms come on top.
    const std::int64_t gradient = kernel == "te" ? 0 : 2, table = 8 * 1000 * 2, term = 4 * 8 * 2;
    const std::int64_t at_head = gradient * 4 * 1000 + table + term, at_loss = (bytes - 4) * 4 * 1000;
    CHECK(cost::backward_workspace(g, steps_of(g, {head, loss})).at(1) ==
          Bytes(std::max(at_head, kernel == "te" ? 0 : at_loss)));
  }
}

TEST_CASE("an operator that reads a tensor twice makes two terms") {
  graph::GraphBuilder builder("square");
  const OpId a = builder.add(sized("a", OpKind::linear, 4, 1));
  auto twice = sized("twice", OpKind::elementwise, 4);
  twice.attributes = graph::Elementwise{1, 2};
  builder.add(twice, {a});
  const auto g = builder.build();
  CHECK(cost::backward_workspace(g, steps_of(g, all(g))).at(1) == Bytes(4 + 2 * 4));
}

TEST_CASE("a tied layer's weight gradient is as large as the table, which makes none apart") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    core::Random random(seed);
    const std::int64_t rows = random.between(2, 500), width = random.between(2, 60);
    models::Layers net("tied");
    const auto x = net.embedding("table", net.indices("in", 3), {.rows = rows, .width = width});
    const auto middle = net.linear("middle", x, width, {.bias = true});
    net.linear("head", middle, rows, {.parameters_of = "table"});
    const auto steps = steps_of(net.build(), {OpId(1), OpId(2), OpId(3)});
    CHECK(steps[0].fresh == Bytes(0));
    CHECK(steps[1].fresh == Bytes(4 * (width + 1) * width));
    CHECK(steps[2].fresh == Bytes(4 * rows * width));
  }
}

TEST_CASE("random stages: the sweep equals the slow twin, which visits every tensor at every moment") {
  std::size_t several = 0, above = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    core::Random random(seed);
    const auto g = random_graph(random);
    std::vector<OpId> operators;
    for (const OpId id : all(g))
      if (random.chance(0.7)) operators.push_back(id);
    const auto steps = steps_of(g, operators);
    const auto envelope = cost::backward_workspace(g, steps);
    several += envelope.lines().size() > 1;
    for (const std::int64_t samples : {1, 2, 3, 7, 40, 1000}) {
      CAPTURE(samples);
      const Bytes most = SlowTwin(g, steps, samples).most();
      CHECK(envelope.at(samples) >= most);
      CHECK(envelope.at(samples).value() <= 1.1 * static_cast<double>(most.value()));
      above += envelope.at(samples) > most;
    }
  }
  CHECK(several > 200);
  CHECK(above < 10);  // envelopes of too many lines
}
