#include "penstock/graph/work.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "support/near.hpp"

using namespace penstock;

TEST_CASE("tokens of the zoo's samples: what enters attention, branches and sequences together") {
  const auto tokens = [](const char* model, const std::map<std::string, std::string>& parameters = {}) {
    return graph::tokens(models::build(model, parameters)).value_or(0);
  };
  CHECK(tokens("gpt") == 1024);
  CHECK(tokens("gpt", {{"sequence", "64"}, {"attention", "split"}}) == 64);
  CHECK(tokens("bert", {{"sequence", "128"}}) == 128);
  CHECK(tokens("bert", {{"sequence", "128"}, {"attention", "fused"}}) == 128);
  CHECK(tokens("transformer") == 256);
  CHECK(tokens("mmt", {{"branches", "4"}}) == 4 * 256);
  CHECK(tokens("encoder_decoder", {{"source_length", "48"}, {"target_length", "40"}}) == 48 + 40);
  CHECK(tokens("clip", {{"resolution", "224"}, {"patch", "16"}}) == 76 + 14 * 14);
  for (const char* model : {"dlrm", "candle_uno", "vgg16", "resnet50", "inception_v3"})
    CHECK(tokens(model) == 0);
}

TEST_CASE(
    "GPT's model FLOPs are PaLM's 6 N + 12 L H Q T per token, or half of the latter with a causal mask") {
  // Chowdhery et al., PaLM, 2022, appendix B, for GPT-2 small: N counts the matrices (12 h^2 a layer, the
  // tied head h x vocabulary). Ours adds norms, sums and functions, which are below 2 %.
  const double layers = 12, hidden = 768, tokens = 1024, vocabulary = 50257;
  const double matrices = layers * 12 * hidden * hidden + hidden * vocabulary;
  const double palm = 6 * matrices + 12 * layers * hidden * tokens;
  const double ours = graph::training_flops(models::build("gpt", {{"mask", "none"}})).value() / tokens;
  CHECK(ours / palm > 0.995);
  CHECK(ours / palm < 1.02);
  const double causal = graph::training_flops(models::build("gpt", {})).value() / tokens;
  CHECK(ours - causal == support::near(6 * layers * hidden * tokens));
}

// Megatron-LM's num_floating_point_operations for a Llama: 3 x 2 x tokens x (12 h^2-like matrices + the
// causal half of the scores and their context + the head). By hand, a layer: query and output 2 h^2, keys and
// values 2 h x 1024. Gate, up and down 3 h x 14336, scores and context 2 x sequence x h / 2.
TEST_CASE("Llama 3 8B's model FLOPs are Megatron-LM's at any length") {
  const double h = 4096;
  for (const double sequence : {8192.0, 32768.0, 131072.0}) {
    const auto g = models::build("llama", {{"sequence", std::to_string(static_cast<int>(sequence))}});
    const double layer = 2 * h * h + 2 * h * 1024 + 3 * h * 14336 + sequence * h,
                 megatron = 3 * 2 * sequence * (32 * layer + h * 128256);
    const double ours = graph::training_flops(g).value();
    CHECK(ours / megatron > 1);  // norms, sums and functions
    CHECK(ours / megatron < 1.003);
  }
}
