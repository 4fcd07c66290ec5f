// Published sizes of language models, and their FLOPs from the closed formulas.

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/attributes.hpp"
#include "support/near.hpp"

using namespace penstock;
using models::build;

namespace {

double matrix_flops(const graph::OpGraph& g) {
  double sum = 0;
  for (const auto& op : g.operators())
    if (op.kind == graph::OpKind::linear || op.kind == graph::OpKind::matmul ||
        op.kind == graph::OpKind::attention)
      sum += op.forward_flops.value();
  return sum;
}

}  // namespace

TEST_CASE("BERT with pooler") {
  CHECK(build("bert").parameters() == 109'482'240);
  CHECK(build("bert", {{"size", "large"}}).parameters() == 335'141'888);
  // A layer: 24 L H^2 in dense layers, 4 L^2 H in attention; the pooler 2 H^2.
  const double length = 512, hidden = 768;
  CHECK(matrix_flops(build("bert")) ==
        12 * (24 * length * hidden * hidden + 4 * length * length * hidden) + 2 * hidden * hidden);
}

TEST_CASE("BERT with the heads of its two tasks has its checkpoints' parameters") {
  // BertForPreTraining of transformers: 110,106,428 and 336,226,108.
  CHECK(build("bert", {{"head", "both"}}).parameters() == 110'106'428);
  CHECK(build("bert", {{"head", "both"}, {"size", "large"}}).parameters() == 336'226'108);
  // BertForMaskedLM has no pooler.
  CHECK(build("bert", {{"head", "masked"}}).parameters() == 109'514'298);
  CHECK(build("bert", {{"head", "masked"}, {"tied_head", "no"}}).parameters() ==
        109'514'298 + 30'522LL * 768);
  CHECK(build("bert", {{"segments", "0"}}).parameters() == 109'482'240 - 2 * 768);
  CHECK_THROWS_AS(build("bert", {{"masked_loss", "yes"}}), core::BadInput);
  CHECK_THROWS_AS(build("bert", {{"dropout", "yes"}}), core::BadInput);
}

TEST_CASE("BERT's norms before its branches are as many: one ends the encoder, none follows the embeddings") {
  for (const char* head : {"pooler", "masked", "both"})
    CHECK(build("bert", {{"norms", "before"}, {"head", head}}).parameters() ==
          build("bert", {{"head", head}}).parameters());
}

TEST_CASE("splitting attention changes neither parameters nor matrix FLOPs") {
  for (const char* name : {"bert", "gpt"}) {
    const auto split = build(name, {{"attention", "split"}}), fused = build(name, {{"attention", "fused"}});
    CHECK(split.parameters() == fused.parameters());
    CHECK(matrix_flops(split) == matrix_flops(fused));
    CHECK(split.size() == fused.size() + 12 * 6);
  }
}

TEST_CASE("split and fused attention keep the same tensors") {
  const auto saved = [](const graph::OpGraph& g) {
    core::Bytes sum;
    for (const auto& op : g.operators()) sum += op.saved_bytes;
    return sum;
  };
  // The split form also holds the scores before the softmax, 12 layers x 12 heads x 512 x 512 numbers.
  const auto split = saved(build("bert")), fused = saved(build("bert", {{"attention", "fused"}}));
  CHECK(split - fused == core::Bytes(12LL * 12 * 512 * 512 * 4));
}

TEST_CASE("GPT-2 small") {
  CHECK(build("gpt").parameters() == 124'439'808);
  CHECK(build("gpt", {{"tied_head", "no"}}).parameters() == 124'439'808 + 50'257LL * 768);
}

TEST_CASE("GPT's feed-forward has a gate where the activation is SwiGLU") {
  const auto gelu = build("gpt"), gated = build("gpt", {{"activation", "swiglu"}});
  // A layer's gate: 768 x 3072 weights and as many biases as it is wide.
  CHECK(gated.parameters() - gelu.parameters() == 12 * (768LL + 1) * 3072);
  CHECK(matrix_flops(gated) - matrix_flops(gelu) == 12 * 2.0 * 1024 * 768 * 3072);
  CHECK(build("opt", {{"activation", "gelu"}}).parameters() == build("opt").parameters());
  CHECK_THROWS_AS(build("gpt", {{"activation", "silu"}}), core::BadInput);
}

TEST_CASE("decoders are causal, a window hides more, and FLOPs of their products stay") {
  const auto mask_of = [](const graph::OpGraph& g) {
    for (const auto& op : g.operators())
      if (op.kind == graph::OpKind::attention) return graph::as<graph::Attention>(op).mask;
    return graph::AttentionMask::none;
  };
  for (const char* name : {"gpt", "opt", "gpt_neox", "llama", "mixtral", "deepseek_v3"}) {
    CAPTURE(name);
    std::map<std::string, std::string> one = {{"layers", "1"}};
    if (std::string(name) == "deepseek_v3") one["dense_layers"] = "1";
    const auto causal = build(name, one);
    CHECK(mask_of(causal) == graph::AttentionMask::causal);
    one["mask"] = "none";
    const auto open = build(name, one);
    CHECK(mask_of(open) == graph::AttentionMask::none);
    CHECK(matrix_flops(open) == matrix_flops(causal));
  }
  for (const char* name : {"bert", "vit", "transformer", "encoder_decoder"})
    CHECK(mask_of(build(name)) == graph::AttentionMask::none);
  CHECK(mask_of(build("llama", {{"layers", "1"}, {"window", "4096"}})) == graph::AttentionMask::window);
  CHECK_THROWS_AS(build("mixtral", {{"window", "4096"}, {"mask", "none"}}), core::BadInput);
  CHECK_THROWS_AS(build("gpt", {{"dropout", "yes"}, {"attention", "split"}}), core::BadInput);
}

TEST_CASE("Transformer base") {
  // Encoder layer 4 x 512^2 + 2 x 512 x 2048 + 2048 + 512 + 2 x 1024 = 3,150,336; decoder layer 4,199,936;
  // one table of 37,000 x 512. The paper's table 3 rounds to 65 M. nn.Transformer of PyTorch has 44,140,544
  // without table. Of these 36,864 are attention biases and 2,048 two final norms that the paper does not
  // describe.
  const auto g = build("encoder_decoder");
  const std::int64_t stacks = 6 * 3'150'336 + 6 * 4'199'936;
  CHECK(stacks == 44'140'544 - 36'864 - 2'048);
  CHECK(g.parameters() == stacks + 37'000 * 512);
}

TEST_CASE("an encoder-decoder with a T5's parts") {
  const std::map<std::string, std::string> base = {
      {"layers", "2"},        {"hidden", "64"},       {"heads", "4"},          {"feed_forward", "256"},
      {"vocabulary", "1000"}, {"source_length", "8"}, {"target_length", "16"}, {"norms", "before"},
      {"biases", "yes"},      {"positions", "16"},    {"head_bias", "yes"},    {"activation", "gelu"}};
  const auto with = [&](const std::string& key, const std::string& value) {
    auto all = base;
    all[key] = value;
    return build("encoder_decoder", all).parameters();
  };
  constexpr std::int64_t h = 64, w = 256, v = 1000;
  constexpr std::int64_t attention = 4 * h * h + 4 * h, feed = 2 * h * w + w + h, norm = 2 * h;
  constexpr std::int64_t encoder = attention + feed + 2 * norm, decoder = 2 * attention + feed + 3 * norm;
  constexpr std::int64_t all = v * h + 16 * h + 2 * (encoder + decoder) + 2 * norm + v;
  CHECK(build("encoder_decoder", base).parameters() == all);
  CHECK(with("decoder_layers", "3") == all + decoder);
  CHECK(with("head_bias", "no") == all - v);
  CHECK(with("tied_head", "no") == all + v * h);
  CHECK(with("positions", "0") == all - 16 * h);
  CHECK(with("biases", "dense") == all - 6 * 4 * h);
  CHECK(with("biases", "no") == all - 6 * 4 * h - 4 * (w + h));
  CHECK(with("head_width", "8") == all - 6 * (2 * h * h + 3 * h / 2));
  CHECK(with("activation", "swiglu") == all + 4 * (h + 1) * w);
  CHECK_THROWS_AS(with("positions", "15"), core::BadInput);
}

TEST_CASE("every decoder layer hangs on the encoder's last operator") {
  const auto g = build("encoder_decoder");
  std::size_t widest = 0;
  for (graph::Vertex v = 0; static_cast<std::size_t>(v) < g.size(); ++v)
    widest = std::max(widest, g.dag().successors(v).size());
  CHECK(widest == 6);
}

TEST_CASE("Llama's relatives have their checkpoints' parameters") {
  CHECK(build("llama", {{"size", "mistral-7b"}}).parameters() == 7'241'732'096);
  CHECK(build("llama", {{"size", "qwen2.5-7b"}}).parameters() == 7'615'616'512);
  CHECK(build("llama", {{"size", "qwen3-8b"}}).parameters() == 8'190'735'360);
  CHECK(build("gpt_neox").parameters() == 20'554'567'680);
  CHECK(build("gpt_neox", {{"size", "pythia-1b"}}).parameters() == 1'011'781'632);
  CHECK(build("gpt_neox", {{"size", "pythia-6.9b"}}).parameters() == 6'857'302'016);
  CHECK(build("gpt_neox", {{"size", "pythia-12b"}}).parameters() == 11'846'072'320);
}

TEST_CASE(
    "a head's width of its own: as wide as hidden by itself, the same model; twice as wide, twice the "
    "attention") {
  const std::map<std::string, std::string> small = {
      {"layers", "1"},       {"hidden", "64"},   {"heads", "4"},     {"kv_heads", "2"},
      {"feed_forward", "8"}, {"sequence", "16"}, {"vocabulary", "4"}};
  const auto with = [&](const char* width) {
    auto all = small;
    all["head_width"] = width;
    return build("llama", all);
  };
  const auto attention = [](const graph::OpGraph& g) {
    for (const auto& op : g.operators())
      if (op.kind == graph::OpKind::attention) return op;
    return graph::Operator{};
  };
  const auto usual = attention(with("0")), same = attention(with("16")), twice = attention(with("32"));
  CHECK(same.attributes == usual.attributes);
  CHECK(same.saved_bytes == usual.saved_bytes);
  // Query and output 64 x 64, key and value 64 x 32 numbers; all of them twice. Of what is kept the output is
  // not.
  CHECK(usual.parameters == 2 * 64 * 64 + 2 * 64 * 32);
  CHECK(twice.parameters == 2 * usual.parameters);
  CHECK(twice.forward_flops == usual.forward_flops * 2);
  CHECK(graph::as<graph::Attention>(twice).inner_width() == 128);
  CHECK(graph::as<graph::Attention>(twice).shared_width() == 64);
  CHECK(twice.saved_bytes - usual.saved_bytes == core::Bytes(4 * 16 * (64 + 2 * 32 + 64)));
}

TEST_CASE("biases and norms of queries and keys") {
  const auto parameters = [](const char* key) {
    return build("llama",
                 {{"layers", "1"}, {"hidden", "64"}, {"heads", "4"}, {"kv_heads", "2"}, {key, "yes"}})
               .parameters() -
           build("llama", {{"layers", "1"}, {"hidden", "64"}, {"heads", "4"}, {"kv_heads", "2"}})
               .parameters();
  };
  CHECK(parameters("qkv_bias") == 64 + 2 * 32);
  CHECK(parameters("qk_norm") == 2 * 16);
}

TEST_CASE("positions beyond a sample's are only rows of the table") {
  CHECK(build("gpt", {{"sequence", "128"}, {"positions", "1024"}}).parameters() == 124'439'808);
  CHECK(build("gpt", {{"sequence", "128"}}).parameters() == 124'439'808 - (1024 - 128) * 768);
  CHECK_THROWS_AS(build("gpt", {{"positions", "1023"}}), core::BadInput);
}

TEST_CASE("OPT's parameters are those of its checkpoints") {
  CHECK(build("opt").parameters() == 125'239'296);
  CHECK(build("opt", {{"size", "opt-1.3b"}}).parameters() == 1'315'758'080);
  CHECK(build("opt", {{"size", "opt-6.7b"}}).parameters() == 6'658'473'984);
  CHECK(static_cast<double>(build("opt", {{"size", "opt-175b"}}).parameters()) / 1e9 ==
        support::near(174.6, 1e-3));
}

TEST_CASE("Llama's parameters are those that its reports print") {
  const auto billions = [](const char* size) {
    return static_cast<double>(build("llama", {{"size", size}, {"sequence", "16"}}).parameters()) / 1e9;
  };
  CHECK(build("llama", {{"sequence", "16"}}).parameters() == 8'030'261'248);  // the checkpoint's count
  CHECK(billions("llama3-70b") == support::near(70.55, 1e-3));
  CHECK(billions("llama3-405b") == support::near(405.85, 1e-3));
  CHECK(build("llama", {{"size", "llama2-7b"}, {"sequence", "16"}}).parameters() == 6'738'415'616);
  CHECK(billions("llama2-13b") == support::near(13.016, 1e-3));
  CHECK(billions("llama2-70b") == support::near(68.98, 1e-3));
}

TEST_CASE("grouped queries: keys and values are as wide as their heads") {
  // A layer of 8 tokens: query and output 2 x 8 x 64 x 64 each, keys and values 2 x 8 x 64 x 16 each. Scores
  // and context 2 x 8 x 8 x 64 each. Gate and up 2 x 8 x 64 x 192, down 2 x 8 x 96 x 64; the head 2 x 8 x 64
  // x 10.
  const auto g = build("llama", {{"layers", "1"},
                                 {"hidden", "64"},
                                 {"heads", "8"},
                                 {"kv_heads", "2"},
                                 {"sequence", "8"},
                                 {"feed_forward", "96"},
                                 {"vocabulary", "10"}});
  CHECK(matrix_flops(g) == 2 * 8 * 64 * (64 + 64 + 16 + 16 + 8 + 8 + 192 + 96 + 10));
  CHECK(g.parameters() == 64 * (10 + 64 + 64 + 16 + 16 + 192 + 96 + 10) + 3 * 64);
  for (const auto& op : g.operators())
    if (op.kind == graph::OpKind::attention) {
      CHECK(as<graph::Attention>(op).shared_width() == 16);
      // Query, keys, values, context and output; and what the shares of 8 heads were divided by.
      CHECK(op.saved_bytes.value() == 4 * 8 * (64 + 16 + 16 + 64 + 64 + 8));
    }
}

TEST_CASE("a size sets what is not given") {
  CHECK(build("gpt", {{"size", "gpt2"}}).parameters() == build("gpt").parameters());
  CHECK(static_cast<double>(build("gpt", {{"size", "gpt3-175b"}}).parameters()) / 1e9 ==
        support::near(174.6, 1e-3));
  const auto shallow = build("gpt", {{"size", "gpt3-175b"}, {"layers", "1"}});
  CHECK(shallow.parameters() == 12'288LL * (50'257 + 2'048) + 12 * 12'288LL * 12'288 + 15 * 12'288);
}
