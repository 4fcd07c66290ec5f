// Mixtures of experts: their operator by hand, and the published sizes of models that have them.

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "models/layers.hpp"
#include "penstock/core/error.hpp"
#include "support/near.hpp"

using namespace penstock;
using models::build;

namespace {

graph::Operator experts(models::ExpertForm form, int element_bytes = 4) {
  models::Layers net("mixture", element_bytes);
  const auto x = net.linear("x", net.input("input", {10, 8}), 8);
  net.experts("experts", x, net.softmax("scores", net.linear("router", x, 5)), form);
  return net.build().operators().back();
}

/// Billions of parameters that one token uses.
double active(const graph::OpGraph& graph) {
  double unused = 0;
  for (const auto& op : graph.operators())
    if (const auto& e = graph::as<graph::Experts>(op); op.kind == graph::OpKind::experts)
      unused += static_cast<double>(op.parameters) * static_cast<double>(e.experts - e.chosen) /
                static_cast<double>(e.experts);
  return (static_cast<double>(graph.parameters()) - unused) / 1e9;
}

double product_flops(const graph::OpGraph& graph) {
  double sum = 0;
  for (const auto& op : graph.operators())
    if (op.kind == graph::OpKind::linear || op.kind == graph::OpKind::attention ||
        op.kind == graph::OpKind::experts)
      sum += op.forward_flops.value();
  return sum;
}

}  // namespace

TEST_CASE("two of five experts, 8 wide, 16 inside, for ten rows") {
  // Gate, up and down: 3 x 8 x 16 numbers an expert. 20 copies of rows times that, two FLOPs each, in each
  // pass.
  const auto gated = experts({.chosen = 2, .inner = 16});
  CHECK(gated.parameters == 5 * 3 * 8 * 16);
  for (const core::Flops flops :
       {gated.forward_flops, gated.input_gradient_flops, gated.weight_gradient_flops})
    CHECK(flops.value() == 2 * 20 * 3 * 8 * 16);
  // Kept: 20 copies of 8; gate's, up's and the product's 16 of each; the output of 10 x 8. Of each copy its
  // expert in 8 bytes and its share in 4.
  CHECK(gated.saved_bytes.value() == 4 * (20 * 8 + 20 * 3 * 16 + 10 * 8) + 20 * 12);
  CHECK(experts({.chosen = 2, .inner = 16}, 2).saved_bytes.value() ==
        2 * (20 * 8 + 20 * 3 * 16 + 10 * 8) + 20 * 12);
  // Biases: 32 behind gate and up, 8 behind down, of each of five. What is clamped, 32 of each copy, is kept
  // twice.
  const auto biased = experts({.chosen = 2, .inner = 16, .bias = true, .clamped = true});
  CHECK(biased.parameters == 5 * (3 * 8 * 16 + 32 + 8));
  CHECK(biased.forward_flops == gated.forward_flops);
  CHECK(biased.saved_bytes.value() == gated.saved_bytes.value() + 4 * 20 * 32);
  const auto plain = experts({.chosen = 2, .inner = 16, .gated = false});
  CHECK(plain.parameters == 5 * 2 * 8 * 16);
  CHECK(plain.saved_bytes.value() == 4 * (20 * 8 + 20 * 2 * 16 + 10 * 8) + 20 * 12);
}

TEST_CASE("Mixtral's, Qwen's and OLMoE's parameters are those of their checkpoints") {
  const auto of = [](const char* size) { return build("mixtral", {{"size", size}, {"sequence", "16"}}); };
  CHECK(of("mixtral-8x7b").parameters() == 46'702'792'704);
  CHECK(of("mixtral-8x22b").parameters() == 140'620'634'112);
  CHECK(of("qwen3-30b-a3b").parameters() == 30'532'122'624);
  CHECK(of("qwen3-235b-a22b").parameters() == 235'093'634'560);
  CHECK(of("qwen1.5-moe-a2.7b").parameters() == 14'315'784'192);
  CHECK(of("olmoe-1b-7b").parameters() == 6'919'161'856);
  CHECK(active(of("mixtral-8x7b")) == support::near(12.9, 5e-3));
  CHECK(active(of("mixtral-8x22b")) == support::near(39, 5e-3));
  CHECK(active(of("qwen3-30b-a3b")) == support::near(3.3, 2e-2));
  CHECK(active(of("qwen3-235b-a22b")) == support::near(22, 2e-2));
  CHECK(active(of("qwen1.5-moe-a2.7b")) == support::near(2.7, 1e-2));
  CHECK(active(of("olmoe-1b-7b")) == support::near(1.3, 2e-2));
}

TEST_CASE("DeepSeek's parameters are those of its checkpoints and reports") {
  const auto of = [](const char* size) { return build("deepseek_v3", {{"size", size}, {"sequence", "16"}}); };
  CHECK(of("deepseek-v3").parameters() == 671'026'404'352);
  CHECK(of("deepseek-v2").parameters() == 235'741'434'880);
  CHECK(of("deepseek-v2-lite").parameters() == 15'706'484'224);
  CHECK(static_cast<double>(of("moonlight-16b-a3b").parameters()) / 1e9 == support::near(15.96, 1e-3));
  CHECK(static_cast<double>(of("kimi-k2").parameters()) / 1e12 == support::near(1.026, 1e-3));
  // 36.6 with the head's 0.9, but without the embedding's 0.9 (README of the checkpoint).
  CHECK(active(of("deepseek-v3")) - 129'280 * 7168 / 1e9 == support::near(36.6, 2e-3));
  CHECK(active(of("deepseek-v2")) == support::near(21.4, 1e-2));
  CHECK(active(of("kimi-k2")) - 163'840 * 7168 / 1e9 == support::near(32, 2e-2));
}

TEST_CASE("a module that predicts one token more adds a layer and shares embedding and head") {
  // 11.5 billion by the checkpoint's README: a layer with experts (11,507 million without its router and
  // norms), and the projection of two tokens' widths.
  const auto with = build("deepseek_v3", {{"sequence", "16"}, {"mtp", "yes"}}),
             without = build("deepseek_v3", {{"sequence", "16"}});
  const std::int64_t h = 7168, rank = 1536, latent = 512, heads = 128;
  const std::int64_t attention = h * rank + rank + rank * heads * 192 + h * (latent + 64) + latent +
                                 latent * heads * (128 + 128) + heads * 128 * h,
                     mixture = h * 256 + 257 * 3 * h * 2048;
  CHECK(with.parameters() - without.parameters() == attention + mixture + 2 * h + 2 * h * h + 3 * h);
}

TEST_CASE("Mixtral's FLOPs are two for each active number of a matrix, and attention's core") {
  // A token: all active parameters but the embedding's and the norms', and 4 x 4096 for each of 16 keys a
  // layer.
  const auto g = build("mixtral", {{"sequence", "16"}});
  const double h = 4096, layer = h * (2 * h + 2 * 1024) + h * 8 + 2 * 3 * h * 14'336, head = h * 32'000;
  CHECK(product_flops(g) == 16 * (32 * (2 * layer + 4 * h * 16) + 2 * head));
}

TEST_CASE("latent attention by hand") {
  // 4 tokens, 12 wide; 2 heads of 3 + 2 for keys and 5 for values; ranks 7 and 6; one dense layer, 8 inside.
  const std::map<std::string, std::string> tiny = {
      {"sequence", "4"},     {"hidden", "12"},     {"layers", "1"},       {"dense_layers", "1"},
      {"heads", "2"},        {"query_rank", "7"},  {"key_rank", "6"},     {"head_width", "3"},
      {"rotary_width", "2"}, {"value_width", "5"}, {"feed_forward", "8"}, {"vocabulary", "9"}};
  const auto g = build("deepseek_v3", tiny);
  const double down = 12 * (7 + 6 + 2), up = 7 * 2 * (3 + 2) + 6 * 2 * 3 + 6 * 2 * 5, out = 2 * 5 * 12;
  const double core = 4 * 2 * (3 + 2) + 4 * 2 * 5;  // of a query: scores over keys, values of both heads
  CHECK(product_flops(g) == 2 * 4 * (down + up + out + core + 3 * 12 * 8 + 12 * 9));
  for (const auto& op : g.operators())
    if (op.kind == graph::OpKind::attention) {
      CHECK(op.parameters == static_cast<std::int64_t>(up + out));
      // Queries 2 x 5, keys 2 x 5 with the shared part, values and context 2 x 5 each, the output. Also what
      // each head's shares were divided by.
      CHECK(op.saved_bytes.value() == 4 * 4 * (10 + 10 + 10 + 10 + 12 + 2));
      CHECK(op.output_bytes.value() == 4 * 4 * 12);
    }
}

TEST_CASE("more experts than there are cannot be chosen") {
  CHECK_THROWS_WITH_AS(build("mixtral", {{"chosen", "9"}}), doctest::Contains("chosen"), core::BadInput);
}
