#include "penstock/graph/work.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"

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

TEST_CASE("GPT's model FLOPs are PaLM's 6 N + 12 L H Q T per token") {
  // Chowdhery et al., PaLM, 2022, appendix B, for GPT-2 small: N counts the matrices (12 h^2 a layer, the
  // tied head h x vocabulary); ours adds norms, sums and functions, which are below 2 %.
  const double layers = 12, hidden = 768, tokens = 1024, vocabulary = 50257;
  const double matrices = layers * 12 * hidden * hidden + hidden * vocabulary;
  const double palm = 6 * matrices + 12 * layers * hidden * tokens;
  const double ours = graph::training_flops(models::build("gpt", {})).value() / tokens;
  CHECK(ours / palm > 0.995);
  CHECK(ours / palm < 1.02);
}
