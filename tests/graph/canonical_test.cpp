// One order of operators, however a file lists them.

#include "penstock/graph/canonical.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "models/catalogue.hpp"
#include "penstock/core/random.hpp"
#include "penstock/graph/graph_builder.hpp"
#include "penstock/graph/graph_file.hpp"
#include "support/reference_data.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using graph::OpGraph;

namespace {

std::vector<std::string> names(const OpGraph& graph) {
  std::vector<std::string> out;
  for (const auto& op : graph.operators()) out.push_back(op.name);
  return out;
}

/// The model's file with its operators in a random order.
std::string shuffled(const OpGraph& graph, std::uint64_t seed) {
  auto file = nlohmann::ordered_json::parse(graph::to_json(graph));
  auto& operators = file["operators"];
  core::Random random(seed);
  for (std::size_t i = operators.size(); i > 1; --i)
    std::swap(operators[i - 1],
              operators[static_cast<std::size_t>(random.between(0, static_cast<int>(i) - 1))]);
  return file.dump();
}

}  // namespace

TEST_CASE("a file's order of operators has no effect, for every model of the zoo") {
  for (const auto& model : models::catalogue()) {
    CAPTURE(model.name);
    const OpGraph graph = models::build(model.name);
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
      CHECK(graph::to_json(graph::parse_graph(shuffled(graph, seed), "shuffled.json")) ==
            graph::to_json(graph));
  }
}

TEST_CASE("branches stay together, in the order of the arguments; outputs come by name") {
  graph::GraphBuilder builder("two");
  const auto op = [&](const char* name, std::initializer_list<core::OpId> inputs) {
    return builder.add(support::unit_op(name), inputs);
  };
  const auto b0 = op("b0", {}), a0 = op("a0", {}), b1 = op("b1", {b0}), a1 = op("a1", {a0});
  op("out10", {b1, a1});
  op("out2", {a1});
  // out2 before out10, and with it a; then b.
  CHECK(names(graph::canonical(builder.build())) ==
        std::vector<std::string>{"a0", "a1", "out2", "b0", "b1", "out10"});
}

TEST_CASE("operands of unknown order come by name") {
  const auto order = [](bool known) {
    graph::GraphBuilder builder("two");
    const auto b = builder.add(support::unit_op("layer10")), a = builder.add(support::unit_op("layer9"));
    builder.add(support::unit_op("sum"), {b, a});
    if (!known) builder.forget_operand_order();
    return names(graph::canonical(builder.build()));
  };
  CHECK(order(true) == std::vector<std::string>{"layer10", "layer9", "sum"});
  CHECK(order(false) == std::vector<std::string>{"layer9", "layer10", "sum"});
}

namespace {

/// "user" has no parameters of its own, "owner" 100.
std::pair<graph::Operator, graph::Operator> user_and_owner() {
  auto user = support::unit_op("user"), owner = support::unit_op("owner");
  user.parameters = 0;
  user.parameters_of = "owner";
  owner.parameters = 100;
  return {user, owner};
}

}  // namespace

TEST_CASE("an owner of parameters comes before its user, wherever a file lists it") {
  const auto [user, owner] = user_and_owner();
  graph::GraphBuilder builder("tied");
  const auto u = builder.add(user), o = builder.add(owner);
  builder.add(support::unit_op("sum"), {u, o});
  CHECK(names(builder.build()) == std::vector<std::string>{"owner", "user", "sum"});
  CHECK(names(graph::canonical(builder.build())) == std::vector<std::string>{"owner", "user", "sum"});
}

TEST_CASE("an owner of parameters that reads its user is refused") {
  const auto [user, owner] = user_and_owner();
  graph::GraphBuilder builder("tied");
  builder.add(owner, {builder.add(user)});
  CHECK_THROWS_WITH(builder.build(), doctest::Contains("uses the parameters of 'owner', none before it"));
}

TEST_CASE("two published listings of one model are one model") {
  const std::string a = support::reference_data("reliability/order_of_file/a.json"),
                    b = support::reference_data("reliability/order_of_file/b.json");
  if (a.empty() || b.empty()) return;
  CHECK(graph::to_json(graph::load_graph(a)) == graph::to_json(graph::load_graph(b)));
}
