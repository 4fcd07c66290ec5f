#include "penstock/layout/context.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "models/catalogue.hpp"
#include "models/state_space.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::Bytes;
using core::OpId;

namespace {

graph::OpGraph small_gpt(const std::string& attention = "fused", const std::string& sequence = "8") {
  return models::build("gpt", {{"layers", "1"},
                               {"hidden", "16"},
                               {"heads", "4"},
                               {"sequence", sequence},
                               {"vocabulary", "32"},
                               {"attention", attention}});
}

OpId named(const graph::OpGraph& graph, const std::string& name) {
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.op(OpId(v)).name == name) return OpId(v);
  return {};
}

plan::Plan whole(const graph::OpGraph& graph, int context,
                 plan::ContextExchange exchange = plan::ContextExchange::ring) {
  plan::Plan out;
  plan::Stage stage;
  for (std::size_t v = 0; v < graph.size(); ++v) stage.operators.emplace_back(v);
  for (int d = 0; d < context; ++d) stage.devices.emplace_back(static_cast<std::size_t>(d));
  stage.context_parallel = context;
  stage.context_exchange = exchange;
  out.stages = {stage};
  return out;
}

}  // namespace

TEST_CASE("a group's part of an operator has its tokens, all weights, and meets all keys") {
  const auto g = small_gpt();
  for (std::size_t v = 0; v < g.size(); ++v) {
    const auto& all = g.op(OpId(v));
    CAPTURE(all.name);
    CHECK(!layout::token_violation(g, OpId(v), 4));
    const auto part = layout::token_shard(all, 4);
    CHECK(part.forward_flops.value() * 4 == all.forward_flops.value());
    CHECK(part.weight_gradient_flops.value() * 4 == all.weight_gradient_flops.value());
    CHECK(part.output_bytes * 4 == all.output_bytes);
    CHECK(part.saved_bytes * 4 == all.saved_bytes);
    CHECK(part.parameters == all.parameters);
  }
  const auto part = layout::token_shard(g.op(named(g, "layer0.attention")), 4);
  const auto& attention = as<graph::Attention>(part);
  CHECK(attention.queries == 2);  // of 8
  CHECK(attention.keys == 8);
  CHECK(attention.projected_keys() == 2);
}

TEST_CASE("the local graph is the model with other operators: four groups do all that there is") {
  const auto g = small_gpt();
  const auto local = layout::local_graph(g, 4);
  REQUIRE(local.size() == g.size());
  CHECK(local.forward_flops().value() * 4 == support::near(g.forward_flops().value()));
  CHECK(local.parameters() == g.parameters());
  CHECK(local.dag().edges() == g.dag().edges());
  for (std::size_t v = 0; v < g.size(); ++v) CHECK(local.operands(OpId(v)) == g.operands(OpId(v)));
}

TEST_CASE("attention exchanges its projected keys and values: two tensors of 8 tokens x 16 numbers in fp32") {
  const auto g = small_gpt();
  const auto sent = layout::context_tensors(g.op(named(g, "layer0.attention")), g.element_bytes());
  CHECK(sent.keys_values == Bytes(2 * 8 * 16 * 4));
  CHECK(sent.queries == Bytes(8 * 16 * 4));
  CHECK(sent.output == Bytes(8 * 16 * 4));
  CHECK(layout::context_tensors(g.op(named(g, "head")), 4).keys_values == Bytes(0));
}

TEST_CASE("grouped heads share keys: a quarter of the heads, a quarter of the bytes") {
  const auto g = models::build("llama", {{"layers", "1"},
                                         {"hidden", "16"},
                                         {"heads", "4"},
                                         {"kv_heads", "1"},
                                         {"feed_forward", "32"},
                                         {"sequence", "8"},
                                         {"vocabulary", "32"}});
  const auto sent = layout::context_tensors(g.op(named(g, "layer0.attention")), g.element_bytes());
  CHECK(sent.keys_values * 2 == sent.queries);  // two tensors, each a quarter as wide
}

TEST_CASE("operators without tokens to divide are named") {
  SUBCASE("a sequence that the groups do not divide") {
    const auto g = small_gpt("fused", "6");
    const auto why = layout::context_violations(g, whole(g, 4));
    REQUIRE(!why.empty());
    CHECK(
        why.front() ==
        "stage 0: `context_parallel` divides tokens, and 'token.input' has 6 elements, which 4 groups do not "
        "divide");
  }
  SUBCASE("attention in products: their keys are operands of their own") {
    const auto g = small_gpt("split");
    const auto why = layout::context_violations(g, whole(g, 2));
    REQUIRE(why.size() >= 2);  // scores and context
    for (const auto& each : why) CHECK(each.find("has no axis of tokens") != std::string::npos);
  }
  SUBCASE("a convolution, a batch norm") {
    const auto g = models::build("resnet50");
    const auto why = layout::context_violations(g, whole(g, 2));
    REQUIRE(!why.empty());
    const auto mentions = [&](const char* words) {
      return std::ranges::any_of(why, [&](const auto& v) { return v.find(words) != std::string::npos; });
    };
    CHECK(mentions("takes its statistics over all tokens"));
    CHECK(mentions("has no axis of tokens"));
  }
  SUBCASE("a state that is handed from token to token, and the convolution before it") {
    models::Layers net("m");
    models::state_space(net, "mixer", net.input("x", {8, 16}),
                        {.heads = 4, .head_width = 4, .groups = 1, .state = 2, .chunk = 4});
    const auto g = net.build();
    const auto why = layout::context_violations(g, whole(g, 2));
    const auto mentions = [&](const char* words) {
      return std::ranges::any_of(why, [&](const auto& v) { return v.find(words) != std::string::npos; });
    };
    CHECK(mentions("'mixer.scan' hands its state from token to token, in order"));
    CHECK(mentions("'mixer.conv' reads the tokens before each token"));
  }
  SUBCASE("heads that Ulysses does not divide") {
    const auto g = small_gpt();
    CHECK(layout::context_violations(g, whole(g, 4, plan::ContextExchange::ulysses)).empty());
    const auto why = layout::context_violations(g, whole(g, 8, plan::ContextExchange::ulysses));
    REQUIRE(why.size() == 1);
    CHECK(why.front().find("'layer0.attention' has 4 heads, which 8 devices do not divide") !=
          std::string::npos);
  }
  SUBCASE("one group divides nothing") {
    const auto g = models::build("resnet50");
    CHECK(layout::context_violations(g, whole(g, 1)).empty());
  }
}

TEST_CASE("Ulysses trades queries, keys with values, and the output; its devices have whole heads of each") {
  const layout::ContextTensors tensors{Bytes(10), Bytes(20), Bytes(30)};
  const auto traded = layout::context_collectives(OpId(0), tensors, plan::ContextExchange::ulysses);
  Bytes forward, backward;
  for (const auto& c : traded.forward) forward += c.bytes;
  for (const auto& c : traded.backward) backward += c.bytes;
  CHECK(forward == Bytes(60));
  CHECK(backward == Bytes(60));
  // Four heads that share two keys: two devices have one key each, four have none for two of them.
  const auto g = models::build("llama", {{"layers", "1"},
                                         {"hidden", "16"},
                                         {"heads", "4"},
                                         {"kv_heads", "2"},
                                         {"feed_forward", "32"},
                                         {"sequence", "8"},
                                         {"vocabulary", "32"}});
  CHECK(layout::context_violations(g, whole(g, 2, plan::ContextExchange::ulysses)).empty());
  CHECK_FALSE(layout::context_violations(g, whole(g, 4, plan::ContextExchange::ulysses)).empty());
  CHECK(layout::context_violations(g, whole(g, 4)).empty());
}

TEST_CASE("a group looks up its tokens' part of a table") {
  const auto g = small_gpt();
  const auto table = *std::ranges::find(g.operators(), graph::OpKind::embedding, &graph::Operator::kind);
  REQUIRE(table.gathered_parameters == 8 * 16);
  CHECK(layout::token_shard(table, 4).gathered_parameters == 2 * 16);
}
