// The described decoder against families of the zoo, closed formulas and published counts.

#include "models/decoder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/catalogue.hpp"
#include "models/layer_words.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/random.hpp"
#include "penstock/graph/attributes.hpp"

using namespace penstock;
using models::build;
using models::LayerWord;
using Given = std::map<std::string, std::string>;

namespace {

Given merged(Given some, const Given& more) {
  for (const auto& [key, value] : more) some[key] = value;
  return some;
}

/// A small decoder: 2 layers, 8 tokens of width 32, 4 heads of 8 with 2 of keys, feed-forward 48, 100 words.
Given small(const Given& more = {}) {
  return merged({{"vocabulary", "100"},
                 {"sequence", "8"},
                 {"layers", "2"},
                 {"hidden", "32"},
                 {"heads", "4"},
                 {"kv_heads", "2"},
                 {"head_width", "8"},
                 {"mixers", "full"},
                 {"feed_forward", "48"},
                 {"activation", "silu"},
                 {"norms", "before"},
                 {"tied_head", "no"}},
                more);
}

std::int64_t parameters(const Given& more) {
  return build("decoder", small(more)).parameters();
}

std::string complaint(const Given& more) {
  try {
    build("decoder", small(more));
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "accepted";
}

/// Names, kinds, attributes, counts and edges are equal.
void check_equal(const graph::OpGraph& one, const graph::OpGraph& other) {
  REQUIRE(one.size() == other.size());
  for (std::size_t v = 0; v < one.size(); ++v) {
    const core::OpId id(v);
    const auto &a = one.op(id), &b = other.op(id);
    CAPTURE(a.name);
    CHECK(a.name == b.name);
    CHECK(a.kind == b.kind);
    CHECK(a.attributes == b.attributes);
    CHECK(a.parameters == b.parameters);
    CHECK(a.parameters_of == b.parameters_of);
    CHECK(a.forward_flops == b.forward_flops);
    CHECK(a.input_gradient_flops == b.input_gradient_flops);
    CHECK(a.weight_gradient_flops == b.weight_gradient_flops);
    CHECK(a.saved_bytes == b.saved_bytes);
    CHECK(std::ranges::equal(one.operands(id), other.operands(id)));
  }
}

std::vector<LayerWord> random_words(core::Random& random) {
  std::vector<LayerWord> out;
  const std::int64_t layers = random.between(1, 40), kinds = random.between(1, 3);
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::int64_t kind = random.between(0, static_cast<int>(kinds) - 1);
    out.push_back(kind == 0 ? LayerWord{"full"} : LayerWord{"window", 128 * kind});
  }
  return out;
}

}  // namespace

TEST_CASE("a choice per layer has a short text") {
  const auto parsed = [](const char* text) { return models::parse_layer_words(text, 100); };
  const LayerWord full{"full"}, window{"window", 512};
  CHECK(parsed("full") == std::vector{full});
  CHECK(parsed("window(512)*2+full") == std::vector{window, window, full});
  CHECK(parsed("(window(512)+full)*2+full") == std::vector{window, full, window, full, full});
  CHECK(models::written(std::vector(30, full)) == "full");
  CHECK(models::written(parsed("(window(512)*5+full)*5")) == "(window(512)*5+full)*5");
  CHECK(models::written(parsed("(window(512)*5+full)*4+window(512)*2")) ==
        "(window(512)*5+full)*4+window(512)*2");
  CHECK(models::written(parsed("dense*3+experts*58")) == "dense*3+experts*58");
  for (const char* wrong : {"", "full*", "full*0", "(full", "full)", "full+", "Full", "window()", "window(0)",
                            "full*101", "((full*10)*10)*10", "full full", "((((((((((full))))))))))"})
    CHECK_THROWS_AS(parsed(wrong), core::BadInput);
}

TEST_CASE("the short text of random layers reads back as the same layers") {
  core::Random random(7);
  for (int i = 0; i < 500; ++i) {
    const auto words = random_words(random);
    const std::string text = models::written(words);
    CAPTURE(text);
    auto read = models::parse_layer_words(text, 100);
    if (read.size() == 1) read.resize(words.size(), read.front());
    CHECK(read == words);
  }
}

TEST_CASE("a description of a family's layers makes the family's graph") {
  const Given grouped = {{"vocabulary", "300"}, {"sequence", "16"}, {"layers", "3"},     {"hidden", "64"},
                         {"heads", "8"},        {"kv_heads", "2"},  {"head_width", "16"}};
  const Given described = merged(grouped, {{"norms", "before"}, {"tied_head", "no"}, {"activation", "silu"}});
  const auto llama = merged(grouped, {{"feed_forward", "96"}, {"qkv_bias", "yes"}, {"window", "4"}});
  check_equal(
      build("llama", llama),
      build("decoder",
            merged(described, {{"feed_forward", "96"}, {"attention_bias", "qkv"}, {"mixers", "window(4)"}})));
  const Given experts = {{"experts", "4"},
                         {"chosen", "2"},
                         {"expert_width", "24"},
                         {"shared_width", "16"},
                         {"shared_gate", "yes"}};
  check_equal(
      build("mixtral", merged(merged(grouped, experts), {{"qk_norm", "whole"}})),
      build("decoder", merged(merged(described, experts),
                              {{"mixers", "full"}, {"qk_norm", "whole"}, {"feed_forwards", "experts"}})));
  const Given latent = {
      {"vocabulary", "300"}, {"sequence", "16"},     {"layers", "3"},        {"hidden", "64"},
      {"heads", "4"},        {"query_rank", "24"},   {"key_rank", "16"},     {"head_width", "8"},
      {"rotary_width", "4"}, {"value_width", "12"},  {"feed_forward", "96"}, {"experts", "4"},
      {"chosen", "2"},       {"expert_width", "24"}, {"shared_width", "16"}, {"scores", "sigmoid"}};
  check_equal(build("deepseek_v3", merged(latent, {{"dense_layers", "1"}})),
              build("decoder", merged(latent, {{"kv_heads", "4"},
                                               {"mixers", "latent"},
                                               {"feed_forwards", "dense+experts*2"},
                                               {"norms", "before"},
                                               {"tied_head", "no"}})));
  const Given older = {
      {"vocabulary", "300"}, {"sequence", "16"}, {"layers", "2"}, {"hidden", "64"}, {"heads", "4"}};
  check_equal(build("gpt_neox", older), build("decoder", merged(older, {{"kv_heads", "4"},
                                                                        {"head_width", "16"},
                                                                        {"mixers", "full"},
                                                                        {"norm", "layer"},
                                                                        {"norms", "before"},
                                                                        {"branches", "side_by_side"},
                                                                        {"gated", "no"},
                                                                        {"feed_forward", "256"},
                                                                        {"attention_bias", "yes"},
                                                                        {"feed_forward_bias", "yes"},
                                                                        {"tied_head", "no"}})));
}

// Gemma 2 report, table 1: 2,024,517,888 beside embeddings of 589,824,000. GPT-OSS's card: 116.83 B.
TEST_CASE("published decoders of the described family have their published parameters") {
  CHECK(build("decoder").parameters() == 2'024'517'888LL + 589'824'000);
  CHECK(build("decoder", {{"size", "gpt-oss-120b"}}).parameters() == 116'829'156'672);
  // OLMo 2 7B: embedding and head of 100,352 words. A layer has 4 d^2 + 3 d f + 4 d: queries and keys have norms over
  // all heads.
  const std::int64_t d = 4096, f = 11008;
  CHECK(build("decoder", {{"size", "olmo2-7b"}}).parameters() ==
        2 * 100'352 * d + 32 * (4 * d * d + 3 * d * f + 4 * d) + d);
}

TEST_CASE("each word of a description adds the weights of its formula") {
  const std::int64_t hidden = 32, inner = 4 * 8, shared = 2 * 8, layers = 2, words = 100, wide = 48;
  const std::int64_t plain =
      2 * words * hidden + hidden +
      layers * (2 * hidden * inner + 2 * hidden * shared + 3 * hidden * wide + 2 * hidden);
  CHECK(parameters({}) == plain);
  const auto more = [&](const Given& given) { return parameters(given) - plain; };
  CHECK(more({{"mixers", "nope"}}) == 0);
  CHECK(more({{"mixers", "window(4)+full"}}) == 0);
  CHECK(more({{"attention_bias", "qkv"}}) == layers * (inner + 2 * shared));
  CHECK(more({{"attention_bias", "output"}}) == layers * hidden);
  CHECK(more({{"attention_bias", "yes"}}) == layers * (inner + 2 * shared + hidden));
  CHECK(more({{"qk_norm", "head"}}) == layers * 2 * 8);
  CHECK(more({{"qk_norm", "whole"}}) == layers * (inner + shared));
  CHECK(more({{"qk_norm", "layer"}}) == layers * 4 * 8);
  CHECK(more({{"qk_norm", "plain"}}) == 0);
  CHECK(more({{"sinks", "yes"}}) == layers * 4);
  CHECK(more({{"sinks", "window"}, {"mixers", "window(4)+full"}}) == 4);
  CHECK(more({{"norms", "both"}}) == layers * 2 * hidden);
  CHECK(more({{"norms", "after"}}) == 0);
  CHECK(more({{"norm", "rms_plain"}}) == -(2 * layers + 1) * hidden);
  CHECK(more({{"norm", "layer"}}) == (2 * layers + 1) * hidden);
  CHECK(more({{"norm", "layer_unbiased"}}) == 0);
  CHECK(more({{"norm", "layer_plain"}}) == -(2 * layers + 1) * hidden);
  CHECK(more({{"branches", "shared_norm"}}) == -layers * hidden);
  CHECK(more({{"branches", "side_by_side"}}) == 0);
  CHECK(more({{"final_norm", "no"}}) == -hidden);
  CHECK(more({{"embedding_norm", "yes"}}) == hidden);
  CHECK(more({{"learned_positions", "10"}}) == 10 * hidden);
  CHECK(more({{"tied_head", "yes"}}) == -words * hidden);
  CHECK(more({{"head_bias", "yes"}}) == words);
  CHECK(more({{"gated", "no"}}) == -layers * hidden * wide);
  CHECK(more({{"gated", "no"}, {"activation", "xielu"}}) == layers * (2 - hidden * wide));
  CHECK(more({{"feed_forward_bias", "yes"}}) == layers * (2 * wide + hidden));
  CHECK(more({{"feed_forwards", "dense+dense(16)"}}) == 3 * hidden * (16 - wide));
  const Given experts = {
      {"feed_forwards", "dense+experts"}, {"experts", "4"}, {"chosen", "2"}, {"expert_width", "16"}};
  const std::int64_t routed = hidden * 4 + 4 * 3 * hidden * 16 - 3 * hidden * wide;
  CHECK(more(experts) == routed);
  CHECK(more(merged(experts, {{"router_offset", "yes"}})) == routed + 4);
  CHECK(more(merged(experts, {{"expert_bias", "yes"}})) == routed + 4 * (2 * 16 + hidden));
  CHECK(more(merged(experts, {{"shared_width", "24"}})) == routed + 3 * hidden * 24);
  CHECK(more({{"mixers", "window(4)+full"}, {"window_kv_heads", "4"}}) == 2 * hidden * shared);
  CHECK(more({{"mixers", "window(4)+full"}, {"window_head_width", "16"}}) ==
        2 * hidden * inner + 2 * hidden * shared);
  CHECK(more({{"value_width", "4"}}) == layers * (4 * 4 - inner + 2 * 4 - shared) * hidden);
}

TEST_CASE("scans and convolutions mix tokens with the weights of their formulas") {
  const std::int64_t hidden = 32, layers = 2, attention = 2 * hidden * 32 + 2 * hidden * 16;
  const auto mixer = [&](const Given& given) {
    return (parameters(given) - parameters({})) / layers + attention;
  };
  // 4 heads of 8 values; 2 groups of keys and queries of width 6; A, D and the steps' bias of each head.
  const Given space = {{"mixers", "state_space"},
                       {"state_heads", "4"},
                       {"state_head_width", "8"},
                       {"state_groups", "2"},
                       {"state_width", "6"}};
  const std::int64_t keyed = 32 + 2 * 2 * 6,
                     mamba2 = hidden * (32 + keyed + 4) + 5 * keyed + 3 * 4 + 32 + 32 * hidden;
  CHECK(mixer(space) == mamba2);
  CHECK(mixer(merged(space, {{"convolution_bias", "no"}})) == mamba2 - keyed);
  CHECK(mixer(merged(space, {{"convolution_tokens", "2"}})) == mamba2 - 2 * keyed);
  CHECK(mixer(merged(space, {{"mixer_bias", "yes"}})) == mamba2 + 32 + keyed + 4 + hidden);
  CHECK(mixer(merged(space, {{"state_norm", "no"}})) == mamba2 - 32);
  // 64 channels with a state of 6 each; A of each state and D of each channel.
  const Given selective = {
      {"mixers", "selective"}, {"state_channels", "64"}, {"state_width", "6"}, {"step_rank", "2"}};
  const std::int64_t mamba =
      hidden * 2 * 64 + 5 * 64 + 64 * (2 + 2 * 6) + (2 + 1) * 64 + 64 * (6 + 1) + 64 * hidden;
  CHECK(mixer(selective) == mamba);
  CHECK(mixer(merged(selective, {{"step_norms", "yes"}})) == mamba + 2 + 2 * 6);
  CHECK(mixer(merged(selective, {{"step_norms", "plain"}})) == mamba);
  CHECK(build("decoder", small(merged(selective, {{"step_norms", "plain"}}))).size() ==
        build("decoder", small(merged(selective, {{"step_norms", "yes"}}))).size());
  CHECK(build("decoder", small(merged(selective, {{"step_norms", "plain"}}))).size() >
        build("decoder", small(selective)).size());
  CHECK(mixer(merged(selective, {{"mixer_bias", "yes"}})) == mamba + 2 * 64 + hidden);
  // 4 heads of 6 values, 2 of keys of width 8; a gate as wide as the values; decay and step of each head.
  const Given delta = merged(space, {{"mixers", "delta"}, {"state_head_width", "6"}, {"state_width", "8"}});
  CHECK(mixer(delta) ==
        hidden * (2 * 16 + 24 + 24) + hidden * 2 * 4 + 4 * (2 * 16 + 24) + 2 * 4 + 6 + 24 * hidden);
  // Through a width of 3, to a decay of each of 4 x 8 numbers and a gate of 24.
  CHECK(mixer(merged(delta, {{"decay_rank", "3"}})) == hidden * (2 * 16 + 24) + hidden * 4 + 2 * hidden * 3 +
                                                           3 * (4 * 8 + 24) + 4 * (2 * 16 + 24) + 4 + 4 * 8 +
                                                           6 + 24 * hidden);
  const Given convolution = {{"mixers", "convolution"}, {"convolution_tokens", "3"}};
  CHECK(mixer(convolution) == hidden * 3 * hidden + 3 * hidden + hidden * hidden);
  CHECK(mixer(merged(convolution, {{"mixer_bias", "yes"}})) ==
        hidden * 3 * hidden + 3 * hidden + hidden * hidden + (3 + 1 + 1) * hidden);
}

TEST_CASE("a scan's chunk is the usual one of its kernel, or as stated") {
  const auto chunk = [](const Given& more) {
    const auto graph = build("decoder", small(merged(
                                            {
                                                {"sequence", "4096"},
                                                {"state_heads", "4"},
                                                {"state_groups", "4"},
                                                {"state_head_width", "8"},
                                                {"state_width", "8"},
                                                {"state_channels", "64"},
                                                {"step_rank", "2"},
                                            },
                                            more)));
    for (const auto& op : graph.operators())
      if (op.kind == graph::OpKind::scan) return graph::as<graph::LinearScan>(op).chunk;
    return std::int64_t{0};
  };
  CHECK(chunk({{"mixers", "state_space"}}) == 256);
  CHECK(chunk({{"mixers", "selective"}}) == 2048);
  CHECK(chunk({{"mixers", "delta"}}) == 64);
  CHECK(chunk({{"mixers", "delta"}, {"scan_chunk", "128"}}) == 128);
}

TEST_CASE("a layer may have one branch, and a place of norms of its own") {
  const std::int64_t plain = parameters({}), feed = 3 * 32 * 48 + 32, mix = 2 * 32 * 32 + 2 * 32 * 16 + 32;
  CHECK(parameters({{"feed_forwards", "none"}}) == plain - 2 * feed);
  CHECK(parameters({{"mixers", "none+full"}, {"feed_forwards", "dense+none"}}) == plain - mix - feed);
  CHECK(parameters({{"norms", "before+both"}}) == plain + 2 * 32);
  const auto graph = build(
      "decoder",
      small({{"mixers", "none+convolution"}, {"feed_forwards", "dense+none"}, {"norms", "before+after"}}));
  std::vector<std::string> first, second;
  for (const auto& op : graph.operators()) {
    if (op.name.starts_with("layer0.")) first.push_back(op.name.substr(7));
    if (op.name.starts_with("layer1.")) second.push_back(op.name.substr(7));
  }
  CHECK(first.front() == "norm2");
  CHECK(first.back() == "add2");
  CHECK(second.front() == "mixer.in_proj");
  REQUIRE(second.size() > 2);
  CHECK(second[second.size() - 3] == "mixer.out_proj");
  CHECK(second[second.size() - 2] == "norm1");
  CHECK(second.back() == "add1");
}

TEST_CASE("windows and chunks are masks of their layers, and only of these") {
  const auto g = build("decoder", small({{"layers", "4"}, {"mixers", "window(4)+blocks(2)+top_k(3)+nope"}}));
  std::vector<graph::Attention> found;
  for (const auto& op : g.operators())
    if (op.kind == graph::OpKind::attention) found.push_back(graph::as<graph::Attention>(op));
  REQUIRE(found.size() == 4);
  using graph::AttentionMask;
  const std::vector<AttentionMask> masks = {AttentionMask::window, AttentionMask::blocks,
                                            AttentionMask::top_k, AttentionMask::causal};
  const std::vector<std::int64_t> reaches = {4, 2, 3, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(found[i].mask == masks[i]);
    CHECK(found[i].reach == reaches[i]);
    CHECK(found[i].rotary == (i < 3));
  }
}

TEST_CASE("a list longer than the model is cut") {
  const Given experts = {{"experts", "4"}, {"chosen", "2"}, {"expert_width", "16"}};
  check_equal(build("decoder", small(merged(experts, {{"feed_forwards", "dense+experts"}}))),
              build("decoder", small(merged(experts, {{"feed_forwards", "dense+experts*9"}}))));
}

TEST_CASE("a description that does not fit is refused with what is expected") {
  CHECK(complaint({{"layers", "3"}, {"mixers", "full*2"}}) ==
        "model decoder: parameter mixers: expected 3 layers, or one word for all of them, not 'full*2'");
  CHECK(complaint({{"mixers", "mamba"}}).find("full, nope, latent, window(TOKENS)") != std::string::npos);
  CHECK(complaint({{"mixers", "window"}}).find("window(TOKENS)") != std::string::npos);
  CHECK(complaint({{"mixers", "full(3)"}}).find("window(TOKENS)") != std::string::npos);
  CHECK(complaint({{"mixers", "latent"}}).find("key_rank: expected at least 1") != std::string::npos);
  CHECK(complaint({{"mixers", "window(4)"}, {"mask", "none"}}).find("mask: expected causal") !=
        std::string::npos);
  CHECK(complaint({{"feed_forwards", "experts"}}).find("experts: expected at least 1") != std::string::npos);
  CHECK(complaint({{"feed_forwards", "wide"}}).find("dense, dense(WIDTH), experts or none") !=
        std::string::npos);
  CHECK(complaint({{"kv_heads", "3"}}).find("kv_heads: expected a divisor") != std::string::npos);
  CHECK(complaint({{"window_kv_heads", "3"}}).find("window_kv_heads: expected a divisor") !=
        std::string::npos);
  CHECK(complaint({{"branches", "shared_norm"}, {"norms", "after"}}).find("norms: expected before") !=
        std::string::npos);
  CHECK(complaint({{"tied_head", "yes"}, {"head_bias", "yes"}}).find("head_bias: expected no") !=
        std::string::npos);
  CHECK(complaint({{"branches", "shared_norm"}, {"feed_forwards", "none"}})
            .find("branches: expected in_turn") != std::string::npos);
  CHECK(complaint({{"norms", "before+inside"}}).find("norms: expected before, after, both or sum") !=
        std::string::npos);
  CHECK(complaint({{"mixers", "delta(3)"}}).find("mixers: expected full, nope") != std::string::npos);
  CHECK(complaint({{"mixers", "state_space"}}).find("state_heads: expected at least 1, where mixers has") !=
        std::string::npos);
  CHECK(complaint({{"mixers", "selective"}}).find("state_channels: expected at least 1") !=
        std::string::npos);
  CHECK(complaint({{"mixers", "delta"},
                   {"state_heads", "4"},
                   {"state_groups", "3"},
                   {"state_head_width", "8"},
                   {"state_width", "8"}})
            .find("state_groups: expected a divisor") != std::string::npos);
  CHECK(complaint({{"learned_positions", "4"}}).find("at least the sequence") != std::string::npos);
}
