#include "penstock/graph/ties.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "models/layers.hpp"

using namespace penstock;
using core::OpId;

namespace {

OpId named(const graph::OpGraph& graph, const std::string& name) {
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(OpId(v)).name == name) return OpId(v);
  return {};
}

}  // namespace

TEST_CASE("the heads of gpt and encoder_decoder use the first embedding's table") {
  const auto gpt = models::build("gpt", {{"layers", "1"}});
  CHECK(gpt.owner(named(gpt, "head")) == named(gpt, "token.embedding"));
  const auto own = models::build("gpt", {{"layers", "1"}, {"tied_head", "no"}});
  CHECK(own.owner(named(own, "head")) == named(own, "head"));
  const auto translator = models::build("encoder_decoder", {{"layers", "1"}});
  for (const char* user : {"target.embedding", "head"})
    CHECK(translator.owner(named(translator, user)) == named(translator, "source.embedding"));
}

TEST_CASE("no operator of a model without ties uses another's parameters") {
  for (const char* name : {"mmt", "resnet50", "bert"}) {
    const auto graph = models::build(name);
    for (std::size_t v = 0; v < graph.size(); ++v) CHECK(graph.owner(OpId(v)) == OpId(v));
  }
}

//  rows (0) --> table (1) --> middle (2) --> head (3), tied to the table
TEST_CASE("a set of operators borrows what it uses and does not have, for each that uses it") {
  models::Layers net("tied");
  const auto x = net.embedding("table", net.indices("rows", 4), {.rows = 11, .width = 3});
  const auto head = net.linear("head", net.linear("middle", x, 3), 11, {.parameters_of = "table"});
  net.linear("second head", net.linear("back", head, 3), 11, {.parameters_of = "table"});
  const auto graph = net.build();
  using Users = std::map<OpId, std::vector<OpId>>;
  const auto of = [&](std::vector<OpId> operators) { return graph::borrowed(graph, operators); };
  CHECK(of({OpId(3)}) == Users{{OpId(1), {OpId(3)}}});
  CHECK(of({OpId(3), OpId(4), OpId(5)}) == Users{{OpId(1), {OpId(3), OpId(5)}}});
  CHECK(of({OpId(2)}).empty());
  CHECK(of({OpId(1), OpId(2), OpId(3)}).empty());
}

TEST_CASE("a tie is operators that name one parameter, which is counted once") {
  // The table's 11 x 3 numbers have three users, the dense layers one each: 3 x 3, 11 x 3 and 3 x 3.
  // The sum is 33 + 9 + 33 + 9 = 84.
  models::Layers net("tied");
  const auto x = net.embedding("table", net.indices("rows", 4), {.rows = 11, .width = 3});
  const auto head = net.linear("head", net.linear("middle", x, 3), 11, {.parameters_of = "table"});
  net.linear("second head", net.linear("back", net.linear("narrow", head, 3), 3), 11,
             {.parameters_of = "table"});
  const auto graph = net.build();
  const auto used = graph.parameter(named(graph, "table"));
  REQUIRE(used.valid());
  CHECK(graph.parameter(named(graph, "head")) == used);
  CHECK(graph.parameter(named(graph, "second head")) == used);
  CHECK_FALSE(graph.parameter(named(graph, "rows")).valid());
  const graph::Parameter& table = graph.parameter(used);
  CHECK(table.name == "table");
  CHECK(table.count == 33);
  CHECK(table.users == std::vector<OpId>{OpId(1), OpId(3), OpId(6)});
  CHECK(table.owner() == OpId(1));
  std::int64_t sum = 0;
  for (const auto& parameter : graph.all_parameters()) {
    sum += parameter.count;
    CHECK(parameter.tied() == (parameter.name == "table"));
    for (const OpId user : parameter.users) CHECK(graph.owner(user) == parameter.owner());
  }
  CHECK(sum == 84);
  CHECK(sum == graph.parameters());
  CHECK(graph.all_parameters().size() == 4);
}
