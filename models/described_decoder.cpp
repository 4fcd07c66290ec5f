// A decoder described layer by layer in parameters: for networks that no other family is.

#include <algorithm>

#include "models/blocks.hpp"
#include "models/decoder.hpp"
#include "models/families.hpp"
#include "models/layer_words.hpp"
#include "models/rotary_decoder.hpp"
#include "models/scan_parameters.hpp"
#include "models/stated.hpp"
#include "penstock/core/error.hpp"

namespace penstock::models {
namespace {

constexpr std::int64_t kWidestFeedForward = 4 * kWidest;

/// The index of a parameter's word among its choices.
std::size_t choice(const Parameters& p, const char* name, const std::vector<std::string>& choices) {
  return static_cast<std::size_t>(std::ranges::find(choices, p.word(name, choices)) - choices.begin());
}

template <class Enumeration>
Enumeration read_choice(const Parameters& p, const char* name, const std::vector<std::string>& choices) {
  return static_cast<Enumeration>(choice(p, name, choices));
}

/// One word for each layer. A single word counts for all layers; a longer list is cut.
std::vector<LayerWord> read_words(const Parameters& p, const char* name, std::size_t layers) {
  std::vector<LayerWord> out;
  try {
    out = parse_layer_words(p.text(name), kDeepest);
  } catch (const core::BadInput&) {
    p.fail(name, "words with counts, such as (window(4096)+full)*13");
  }
  if (out.size() == 1) out.resize(layers, out.front());
  if (out.size() < layers) p.fail(name, std::to_string(layers) + " layers, or one word for all of them");
  out.resize(layers);
  return out;
}

/// Heads of layers without a window, or of those with one, whose parameters start with "window_".
HeadAttention read_heads(const Parameters& p, const std::string& prefix, const HeadAttention& otherwise) {
  HeadAttention out = otherwise;
  const auto read = [&](const char* name, std::int64_t low, std::int64_t most, std::int64_t& value) {
    const std::int64_t given = p.integer(prefix + name, prefix.empty() ? low : 0, most);
    if (given > 0 || prefix.empty()) value = given;
  };
  read("heads", 1, kMostHeads, out.heads);
  read("kv_heads", 1, kMostHeads, out.form.kv_heads);
  read("head_width", 1, kWidest, out.form.head_width);
  read("value_width", 0, kWidest, out.form.value_head);
  if (out.heads % out.form.kv_heads != 0) p.fail(prefix + "kv_heads", "a divisor of the heads");
  return out;
}

/// Reads the parameters that layers with and without a window share.
AttentionForm read_form(const Parameters& p) {
  AttentionForm out;
  out.core = p.word("attention", {"flash", "plain"}) == "flash" ? AttentionCore::flash : AttentionCore::plain;
  out.mask = read_mask(p);
  const std::string bias = p.word("attention_bias", {"no", "qkv", "output", "yes"});
  out.bias = bias == "yes";
  out.qkv_bias = bias == "qkv";
  out.output_bias = bias == "output";
  out.dropout = p.flag("dropout");
  out.key_norm = read_choice<KeyNorm>(p, "qk_norm", {"no", "head", "whole", "plain", "layer"});
  return out;
}

NormKind read_norm(const Parameters& p) {
  return read_choice<NormKind>(p, "norm", {"rms", "rms_plain", "layer", "layer_unbiased", "layer_plain"});
}

/// Every mixer that a word may name.
struct MixerChoice {
  HeadAttention whole, window;
  LatentAttention latent;
  ScanChoice scans;
};

MixerChoice read_mixers(const Parameters& p) {
  MixerChoice out;
  out.whole = read_heads(p, "", {0, read_form(p)});
  out.window = read_heads(p, "window_", out.whole);
  const std::string sinks = p.word("sinks", {"no", "yes", "window"});
  out.whole.form.sinks = sinks == "yes";
  out.window.form.sinks = sinks != "no";
  out.latent = {
      out.whole.heads,           p.integer("query_rank", 0, kWidest),   p.integer("key_rank", 0, kWidest),
      out.whole.form.head_width, p.integer("rotary_width", 0, kWidest), out.whole.form.value_head,
      out.whole.form.mask};
  out.scans = read_scans(p);
  return out;
}

/// Norms between projections are of the kind of the others; a bias can only be the output's.
Mixer latent_mixer(const Parameters& p, LatentAttention latent) {
  latent.norm = read_norm(p);
  latent.dropout = p.flag("dropout");
  const std::string bias = p.text("attention_bias");
  if (bias != "no" && bias != "output") p.fail("attention_bias", "no or output, where mixers has latent");
  latent.output_bias = bias == "output";
  for (const auto& [name, width] : {std::pair{"key_rank", latent.key_rank},
                                    {"rotary_width", latent.rotary},
                                    {"value_width", latent.value}})
    if (width == 0) p.fail(name, "at least 1, where mixers has latent");
  return latent;
}

Mixer mixer_of(const Parameters& p, const LayerWord& layer, const MixerChoice& all) {
  if (layer.word == "latent" && layer.number == 0) return latent_mixer(p, all.latent);
  if (layer.word == "none" && layer.number == 0) return NoBranch{};
  if (layer.number == 0)
    if (const auto scan = scan_mixer(p, layer.word, all.scans)) return *scan;
  HeadAttention out = layer.word == "window" ? all.window : all.whole;
  out.form.rotary = layer.word != "nope";
  const bool reaches = layer.word == "window" || layer.word == "blocks" || layer.word == "top_k";
  const bool known = reaches || layer.word == "full" || layer.word == "nope";
  if (!known || reaches != (layer.number > 0))
    p.fail(
        "mixers",
        "full, nope, latent, window(TOKENS), blocks(TOKENS), top_k(TOKENS), state_space, selective, delta, "
        "convolution or none of each layer");
  if (!reaches) return out;
  if (out.form.mask != AttentionMask::causal) p.fail("mask", "causal, where mixers has " + layer.word);
  out.form.reach = layer.number;
  out.form.mask = layer.word == "window"   ? AttentionMask::window
                  : layer.word == "blocks" ? AttentionMask::blocks
                                           : AttentionMask::top_k;
  return out;
}

DenseForm read_dense(const Parameters& p) {
  const bool gated = p.flag("gated");
  const std::string activation = p.word("activation", {"silu", "gelu", "relu", "relu2", "xielu"});
  if (gated && activation == "xielu") p.fail("activation", "silu, gelu, relu or relu2, where gated is yes");
  return {p.integer("feed_forward", 1, kWidestFeedForward),
          gated                  ? Activation::swiglu
          : activation == "relu" ? Activation::relu
                                 : Activation::gelu,
          p.flag("feed_forward_bias"), activation == "xielu" ? 2 : 0};
}

Mixture read_experts(const Parameters& p) {
  Mixture out{};
  out.experts = p.integer("experts", 0, 4096);
  out.chosen = p.integer("chosen", 0, std::max<std::int64_t>(out.experts, 1));
  out.width = p.integer("expert_width", 0, kWidest);
  out.shared = p.integer("shared_width", 0, kWidestFeedForward);
  out.shared_gate = p.flag("shared_gate");
  out.shared_bias = p.flag("feed_forward_bias");
  out.bias = p.flag("expert_bias");
  out.clamped = p.flag("expert_clamp");
  out.gated = p.flag("gated");
  out.router_bias = p.flag("router_offset");
  out.sigmoid = p.word("scores", {"softmax", "sigmoid"}) == "sigmoid";
  return out;
}

FeedForward experts_of(const Parameters& p, const Mixture& experts) {
  for (const auto& [name, count] :
       {std::pair{"experts", experts.experts}, {"chosen", experts.chosen}, {"expert_width", experts.width}})
    if (count == 0) p.fail(name, "at least 1, where feed_forwards has experts");
  return experts;
}

FeedForward feed_forward_of(const Parameters& p, const LayerWord& layer, DenseForm dense,
                            const Mixture& experts) {
  if (layer.word == "experts" && layer.number == 0) return experts_of(p, experts);
  if (layer.word == "none" && layer.number == 0) return NoBranch{};
  if (layer.word != "dense") p.fail("feed_forwards", "dense, dense(WIDTH), experts or none of each layer");
  if (layer.number > kWidestFeedForward)
    p.fail("feed_forwards", "widths up to " + std::to_string(kWidestFeedForward));
  if (layer.number > 0) dense.width = layer.number;
  return dense;
}

NormPlace place_of(const Parameters& p, const LayerWord& layer) {
  static const std::vector<std::string> places = {"before", "after", "both", "sum"};
  const auto found = std::ranges::find(places, layer.word);
  if (found == places.end() || layer.number > 0) p.fail("norms", "before, after, both or sum of each layer");
  return static_cast<NormPlace>(found - places.begin());
}

/// Branches side by side share a sum, and perhaps a norm.
void check_order(const Parameters& p, const DecoderLayer& layer) {
  if (layer.order == BranchOrder::in_turn) return;
  if (layer.place != NormPlace::before) p.fail("norms", "before, where branches are not in_turn");
  if (std::holds_alternative<NoBranch>(layer.mixer) || std::holds_alternative<NoBranch>(layer.feed_forward))
    p.fail("branches", "in_turn, where a layer has one branch alone");
}

std::vector<DecoderLayer> read_described_layers(const Parameters& p) {
  DecoderLayer common;
  common.norm = read_norm(p);
  common.dropout = p.flag("dropout");
  common.order = read_choice<BranchOrder>(p, "branches", {"in_turn", "side_by_side", "shared_norm"});
  std::vector<DecoderLayer> out = read_layers(p, common);
  const MixerChoice mixers = read_mixers(p);
  const DenseForm dense = read_dense(p);
  const Mixture experts = read_experts(p);
  const auto mixer_words = read_words(p, "mixers", out.size()),
             feed_words = read_words(p, "feed_forwards", out.size()),
             place_words = read_words(p, "norms", out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].mixer = mixer_of(p, mixer_words[i], mixers);
    out[i].feed_forward = feed_forward_of(p, feed_words[i], dense, experts);
    out[i].place = place_of(p, place_words[i]);
    check_order(p, out[i]);
  }
  return out;
}

graph::OpGraph build_described(const Parameters& p) {
  Decoder out = rotary_decoder(p, read_described_layers(p));
  out.norm = out.layers.front().norm;
  out.positions = p.integer("learned_positions", 0, 16 * kWidest);
  if (out.positions > 0 && out.positions < out.tokens)
    p.fail("learned_positions", "at least the sequence, or 0");
  out.embedding_norm = p.flag("embedding_norm");
  out.final_norm = p.flag("final_norm");
  out.head_bias = p.flag("head_bias");
  if (out.head_bias && out.tied_head) p.fail("head_bias", "no, where tied_head is yes");
  return build_decoder(p.model(), p.element_bytes(), out);
}

std::vector<ParameterInfo> mixer_parameters() {
  return {
      {"mixers", "(window(4096)+full)*13",
       "attention of each layer: full; nope, without rotary positions; window(TOKENS); blocks(TOKENS); "
       "top_k(TOKENS); latent. Or a scan: state_space (Mamba-2), selective (Mamba), delta (gated delta net); "
       "convolution (LFM2); none. One word for all, or a list such as window(512)*5+full"},
      {"heads", "8", "attention heads"},
      {"kv_heads", "4", "heads of keys and values, shared by groups of heads; divides heads"},
      {"head_width", "256", "width of a head; of latent attention without the part that all heads share"},
      {"value_width", "0", "width of a head's values; 0: head_width"},
      {"window_heads", "0", "heads of layers with a window; 0: heads"},
      {"window_kv_heads", "0", "kv_heads of layers with a window; 0: kv_heads"},
      {"window_head_width", "0", "head_width of layers with a window; 0: head_width"},
      {"window_value_width", "0", "value_width of layers with a window; 0: value_width"},
      {"query_rank", "0", "of latent attention: width that queries are projected from; 0: from the token"},
      {"key_rank", "0", "of latent attention: width that keys and values are projected from"},
      {"rotary_width", "0", "of latent attention: width of the keys' part that all heads share"},
      {"attention_bias", "no", "biases of attention: no, qkv, output (only these), yes"},
      {"qk_norm", "no",
       "norms of queries and keys: no, head, whole (all heads together), plain (head, without weights), "
       "layer (head, with mean and biases)"},
      {"sinks", "no",
       "yes: each head has a learned score of no key (GPT-OSS); window: in layers with a window"},
      {"attention", "flash", "flash, which never stores its scores; or plain, which runs kernel by kernel"},
      mask_parameter()};
}

std::vector<ParameterInfo> feed_forward_parameters() {
  return {
      {"feed_forwards", "dense",
       "feed-forward of each layer: dense, dense(WIDTH), experts or none. One word for all, or a list such as "
       "dense*3+experts*58"},
      {"feed_forward", "9216", "width of a dense feed-forward; of gate and up projection, each"},
      {"activation", "gelu",
       "silu, gelu, relu, relu2 (its square) or xielu (two weights); the last two at GELU's cost"},
      {"gated", "yes", "yes: a gate and an up projection; no: one matrix before the activation"},
      {"feed_forward_bias", "no", "yes: dense and shared feed-forwards have biases"},
      {"experts", "0", "experts of a layer with experts"},
      {"chosen", "0", "experts that a token takes"},
      {"expert_width", "0", "width of an expert, as of feed_forward"},
      {"shared_width", "0", "width of the feed-forward beside experts that every token takes; 0: none"},
      {"shared_gate", "no", "yes: a sigmoid of the token weighs that feed-forward (Qwen2)"},
      {"expert_bias", "no", "yes: experts have biases (GPT-OSS)"},
      {"expert_clamp", "no", "yes: what goes into their activation is clamped (GPT-OSS)"},
      {"router_offset", "no",
       "yes: the router adds a number of each expert to its score (GPT-OSS, ERNIE 4.5)"},
      {"scores", "softmax", "of the router: softmax or sigmoid"}};
}

std::vector<ParameterInfo> described_parameters() {
  std::vector<ParameterInfo> all = {
      {"vocabulary", "256000", "tokens known"},
      {"sequence", "8192", "tokens of a sample"},
      {"layers", "26", "decoder layers"},
      {"hidden", "2304", "width of a token"},
      {"learned_positions", "0", "rows of a table of learned positions; 0: none"},
      {"norm", "rms",
       "every norm of a token: rms, rms_plain (without weights), layer, layer_unbiased, layer_plain"},
      {"norms", "both",
       "before: of a branch's input; after: of its output; both; sum: after it is added (GPT-1). One word for "
       "all layers, or a list"},
      {"branches", "in_turn", "attention and feed-forward: in_turn, side_by_side, shared_norm (one norm)"},
      {"embedding_norm", "no", "yes: embeddings are normalised (BLOOM)"},
      {"final_norm", "yes", "yes: a norm before the head"},
      {"dropout", "no",
       "yes: the masks of dropout, of attention and of what a branch adds, take time and memory"}};
  for (ParameterInfo& one : mixer_parameters()) all.push_back(std::move(one));
  for (ParameterInfo& one : scan_parameters()) all.push_back(std::move(one));
  for (ParameterInfo& one : feed_forward_parameters()) all.push_back(std::move(one));
  all.push_back({"tied_head", "yes", "yes: the head uses the token embedding's weights; no: it has its own"});
  all.push_back({"head_bias", "no", "yes: the head has a bias"});
  all.push_back(loss_parameter());
  for (ParameterInfo& one : rotary_statements("10000", "none", {.norm_epsilon = "1e-06"}))
    all.push_back(std::move(one));
  for (ParameterInfo& one : router_statements(false)) all.push_back(std::move(one));
  return all;
}

}  // namespace

// Soft caps of scores and logits, and factors on embeddings, branches and logits, are no operators: a cap is
// one more function in a kernel that runs anyway.
ModelInfo decoder() {
  return {
      "decoder",
      "decoder described layer by layer: norms, attention, windows, feed-forwards, experts",
      "Gemma 2 report, 2024, table 1 (Gemma 2 2B); OLMo 2 report, 2025, table 3; GPT-OSS model card, 2025, "
      "table 1",
      described_parameters(),
      build_described,
      {{"gemma2-2b", {}},
       {"olmo2-7b",
        {{"vocabulary", "100352"},
         {"sequence", "4096"},
         {"layers", "32"},
         {"hidden", "4096"},
         {"heads", "32"},
         {"kv_heads", "32"},
         {"head_width", "128"},
         {"mixers", "full"},
         {"qk_norm", "whole"},
         {"norms", "after"},
         {"feed_forward", "11008"},
         {"activation", "silu"},
         {"tied_head", "no"},
         {"rope_base", "500000"}}},
       {"gpt-oss-120b",
        {{"vocabulary", "201088"},
         {"sequence", "4096"},
         {"positions", "131072"},
         {"layers", "36"},
         {"hidden", "2880"},
         {"heads", "64"},
         {"kv_heads", "8"},
         {"head_width", "64"},
         {"mixers", "(window(128)+full)*18"},
         {"attention_bias", "yes"},
         {"sinks", "yes"},
         {"norms", "before"},
         {"feed_forwards", "experts"},
         {"activation", "silu"},
         {"experts", "128"},
         {"chosen", "4"},
         {"expert_width", "2880"},
         {"expert_bias", "yes"},
         {"expert_clamp", "yes"},
         {"router_offset", "yes"},
         {"tied_head", "no"},
         {"rope_base", "150000"},
         {"norm_epsilon", "1e-05"},
         {"rope_scaling",
          "yarn:beta_fast=32:beta_slow=1:factor=32:original_max_position_embeddings=4096"}}}}};
}

}  // namespace penstock::models
