// GPT-2's decoder with language-model head, and OPT's, which differs in little.

#include "models/blocks.hpp"
#include "models/families.hpp"
#include "models/rotary_decoder.hpp"
#include "models/stated.hpp"

namespace penstock::models {
namespace {

/// Parameters of GPT's decoders that OPT's do not have.
struct GptForm {
  bool biases = true;
  std::optional<Mixture> experts{};
};

Activation gpt_activation(const Parameters& p) {
  const std::string word = p.word("activation", {"gelu", "relu", "swiglu"});
  return word == "gelu" ? Activation::gelu : word == "relu" ? Activation::relu : Activation::swiglu;
}

HeadAttention gpt_attention(const Parameters& p, bool biases) {
  const std::string how = read_attention(p);
  const bool dropout = p.flag("dropout");
  if (dropout && how == "split") p.fail("dropout", "no, where attention is split");
  return {p.heads("heads", p.integer("hidden", 1, kWidest)),
          {.bias = biases, .core = attention_core(how), .mask = read_mask(p), .dropout = dropout},
          how == "split"};
}

DecoderLayer gpt_layer(const Parameters& p, const GptForm& form) {
  DecoderLayer out;
  out.norm = NormKind::layer;
  out.mixer = gpt_attention(p, form.biases);
  const std::int64_t given = p.integer("feed_forward", 0, 4 * kWidest),
                     width = given > 0 ? given : 4 * p.integer("hidden", 1, kWidest);
  out.feed_forward = DenseForm{width, gpt_activation(p), form.biases, 0, true};
  if (form.experts) out.feed_forward = *form.experts;
  out.dropout = p.flag("dropout");
  return out;
}

/// `spare_positions`: rows of the position table beyond those of the positions known.
graph::OpGraph decoder(const Parameters& p, std::int64_t spare_positions, const GptForm& form) {
  Decoder out = rotary_decoder(p, read_layers(p, gpt_layer(p, form)));
  const std::int64_t known = p.integer("positions", 0, kWidest), positions = known > 0 ? known : out.tokens;
  if (positions < out.tokens) p.fail("positions", "at least the sequence, or 0");
  out.positions = positions + spare_positions;
  out.norm = NormKind::layer;
  return build_decoder(p.model(), p.element_bytes(), out);
}

/// Experts as Megatron-LM makes them of a GPT: as wide as its feed-forward, with its activation.
GptForm gpt_form(const Parameters& p) {
  GptForm out{p.flag("biases")};
  const std::int64_t count = p.integer("experts", 0, kWidest);
  Mixture experts{count, p.integer("chosen", 1, count > 0 ? count : kWidest),
                  p.integer("expert_width", 0, kWidest)};
  if (count == 0) return out;
  const std::string activation = p.word("activation", {"gelu", "relu", "swiglu"});
  if (activation == "relu") p.fail("activation", "gelu or swiglu, where there are experts");
  const std::int64_t dense = p.integer("feed_forward", 0, 4 * kWidest);
  if (experts.width == 0) experts.width = dense > 0 ? dense : 4 * p.integer("hidden", 1, kWidest);
  experts.bias = out.biases;
  experts.gated = activation == "swiglu";
  out.experts = experts;
  return out;
}

graph::OpGraph build_gpt(const Parameters& p) {
  return decoder(p, 0, gpt_form(p));
}

graph::OpGraph build_opt(const Parameters& p) {
  return decoder(p, 2, {});
}

std::vector<ParameterInfo> gpt_parameters(std::vector<ParameterInfo> all) {
  all.push_back({"biases", "yes", "yes: dense layers, projections and experts have biases; no: none has"});
  all.push_back({"experts", "0", "experts of a layer instead of its dense layers; 0: none"});
  all.push_back({"chosen", "2", "experts that a token takes"});
  all.push_back({"expert_width", "0", "width of an expert; 0: feed_forward"});
  for (ParameterInfo& one : router_statements(false)) all.push_back(std::move(one));
  return all;
}

std::vector<ParameterInfo> decoder_parameters(const char* vocabulary, const char* sequence,
                                              const char* activation) {
  std::vector<ParameterInfo> all = {
      {"vocabulary", vocabulary, "tokens known"},
      {"sequence", sequence, "tokens of a sample"},
      {"positions", "0", "positions known, rows of their table; 0: as many as a sample has tokens"},
      {"layers", "12", "decoder layers"},
      {"hidden", "768", "width of a token"},
      {"heads", "12", "attention heads; divides hidden"},
      {"feed_forward", "0", "width between a layer's two dense layers; 0: four times hidden"},
      {"activation", activation, "between these: gelu, relu, or swiglu of two as wide"},
      attention_parameter("fused"),
      mask_parameter(),
      {"dropout", "no",
       "yes: the masks of attention's and of each layer's dropout take time and memory; no: they are left "
       "out"},
      loss_parameter(),
      {"tied_head", "yes", "yes: the head uses the token embedding's weights; no: it has its own"}};
  for (ParameterInfo& one : decoder_statements({.dropout = "0.1"})) all.push_back(std::move(one));
  return all;
}

SizeInfo size(const std::string& name, const std::string& layers, const std::string& hidden,
              const std::string& heads, const std::string& sequence) {
  return {name, {{"layers", layers}, {"hidden", hidden}, {"heads", heads}, {"sequence", sequence}}};
}

}  // namespace

// GPT-3's 13 B has 40 heads of 128 here, where the paper's table prints a width of 5,140. A tied head counts
// its weights once, at the token embedding. A pipeline that puts the two into different stages needs a second
// copy and must add up their gradients (plan/shared_parameters.hpp).
ModelInfo gpt() {
  return {"gpt",
          "decoder with embeddings, norms, residual sums, GELU and language-model head",
          "Radford et al., Language Models are Unsupervised Multitask Learners, 2019 (GPT-2 small); Brown et "
          "al., 2020, table 2.1",
          gpt_parameters(decoder_parameters("50257", "1024", "gelu")),
          build_gpt,
          {size("gpt2", "12", "768", "12", "1024"), size("gpt2-xl", "48", "1600", "25", "1024"),
           size("gpt3-6.7b", "32", "4096", "32", "2048"), size("gpt3-13b", "40", "5120", "40", "2048"),
           size("gpt3-175b", "96", "12288", "96", "2048")}};
}

// The 350 M of the paper's table 1 is left out: it normalises after its branches and projects its embeddings.
ModelInfo opt() {
  return {"opt",
          "GPT's decoder with ReLU and two spare positions",
          "Zhang et al., OPT: Open Pre-trained Transformer Language Models, 2022, table 1",
          decoder_parameters("50272", "2048", "relu"),
          build_opt,
          {size("opt-125m", "12", "768", "12", "2048"), size("opt-1.3b", "24", "2048", "32", "2048"),
           size("opt-2.7b", "32", "2560", "32", "2048"), size("opt-6.7b", "32", "4096", "32", "2048"),
           size("opt-13b", "40", "5120", "40", "2048"), size("opt-30b", "48", "7168", "56", "2048"),
           size("opt-66b", "64", "9216", "72", "2048"), size("opt-175b", "96", "12288", "96", "2048")}};
}

}  // namespace penstock::models
