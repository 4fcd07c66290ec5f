// A model of the zoo in Megatron-LM's arguments.

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "megatron_lines.hpp"
#include "models/layer_words.hpp"
#include "models/parameters.hpp"
#include "models/stated.hpp"

namespace penstock::frameworks {
namespace {

using Named = std::map<std::string, std::string>;

void add_number(MegatronLines& out, const char* argument, double number) {
  out.add("{} {}", argument, number);
}

void add_norms_and_dropout(MegatronLines& out, Named& p) {
  out.add("--norm-epsilon {}\n--init-method-std {}\n--attention-dropout {}\n--hidden-dropout {}",
          p["norm_epsilon"], p["init_std"], p["attention_dropout"], p["hidden_dropout"]);
}

bool is_whole(double number) {
  return number == std::floor(number);
}

/// Megatron-LM's Llama 3 scaling has no argument for these three numbers.
bool usual_llama3(const models::RopeScaling& scaling) {
  constexpr double kHigh = 4, kOriginal = 8192;
  return scaling.number("low_freq_factor", 1) == 1 && scaling.number("high_freq_factor", kHigh) == kHigh &&
         scaling.number("original_max_position_embeddings", kOriginal) == kOriginal;
}

/// YaRN is the default of latent attention there. Three of its numbers have no argument (0.19).
void add_latent_scaling(MegatronLines& out, const models::RopeScaling& scaling) {
  if (scaling.type != "yarn") {
    out.add("--rope-type rope");
    if (scaling.type != "none") out.leave_out("rope_scaling " + models::written(scaling));
    return;
  }
  out.add("--rope-type yarn");
  add_number(out, "--rotary-scaling-factor", scaling.number("factor", 1));
  add_number(out, "--mscale", scaling.number("mscale", 1));
  add_number(out, "--mscale-all-dim", scaling.number("mscale_all_dim", 0));
  constexpr std::pair<const char*, double> kFixed[] = {
      {"original_max_position_embeddings", 4096}, {"beta_fast", 32}, {"beta_slow", 1}};
  for (const auto& [key, fixed] : kFixed)
    if (const double given = scaling.number(key, fixed); given != fixed)
      out.leave_out(fmt::format("{} {} of YaRN", key, given));
}

void add_scaling(MegatronLines& out, const models::RopeScaling& scaling) {
  const double factor = scaling.number("factor", 1), share = scaling.number("partial_rotary_factor", 1);
  if (scaling.type == "none") return;
  if (scaling.type == "llama3" && usual_llama3(scaling))
    return out.add("--use-rope-scaling\n--rope-scaling-factor {}", factor);
  if (scaling.type == "linear" && is_whole(factor))
    return out.add("--rotary-seq-len-interpolation-factor {}", factor);
  if (scaling.type == "default" && scaling.numbers.size() == 1 && share < 1)
    return out.add("--rotary-percent {}", share);
  out.leave_out("rope_scaling " + models::written(scaling));
}

/// Megatron-LM refuses samples longer than its positions, also where these have no table.
void add_rotary_positions(MegatronLines& out, Named& p) {
  out.add("--max-position-embeddings {}", std::max(std::stoll(p["positions"]), std::stoll(p["sequence"])));
  out.add("--position-embedding-type rope");
  if (const double base = std::stod(p["rope_base"]); is_whole(base))
    add_number(out, "--rotary-base", base);
  else
    out.leave_out("rope_base " + p["rope_base"]);
}

/// Norms, positions and feed-forwards of all decoders but GPT's.
void add_rotary(MegatronLines& out, Named& p) {
  add_rotary_positions(out, p);
  out.add("--normalization RMSNorm\n--swiglu\n--disable-bias-linear");
  add_norms_and_dropout(out, p);
}

void add_grouped_attention(MegatronLines& out, Named& p) {
  if (p["kv_heads"] != p["heads"]) out.add("--group-query-attention\n--num-query-groups {}", p["kv_heads"]);
  if (p["head_width"] != "0") out.add("--kv-channels {}", p["head_width"]);
  if (p["qkv_bias"] == "yes") out.add("--add-qkv-bias");
  if (p["qk_norm"] != "no") out.add("--qk-layernorm");
  if (p["qk_norm"] == "whole")
    out.leave_out("qk_norm whole, of all heads together (--qk-layernorm is head by head)");
}

void add_rotary_decoder(MegatronLines& out, Named& p) {
  out.add("--ffn-hidden-size {}", p["feed_forward"]);
  add_grouped_attention(out, p);
  add_rotary(out, p);
  add_scaling(out, models::parse_rope_scaling(p["rope_scaling"]));
}

void add_router(MegatronLines& out, Named& p) {
  if (p["router_normalised"] == "no" && p["scores"] == "sigmoid")
    out.leave_out("router_normalised no, with sigmoid scores");
  else if (p["router_normalised"] == "no")
    out.add("--moe-router-pre-softmax");
  if (p["router_scale"] != "1") out.add("--moe-router-topk-scaling-factor {}", p["router_scale"]);
  if (p["router_groups"] != "1")
    out.add("--moe-router-num-groups {}\n--moe-router-group-topk {}", p["router_groups"],
            p["router_groups_chosen"]);
  if (p["router_bias"] == "yes") out.add("--moe-router-enable-expert-bias");
  if (p["router_jitter"] != "0") out.add("--moe-input-jitter-eps {}", p["router_jitter"]);
  out.add("--moe-router-load-balancing-type {}\n--moe-aux-loss-coeff {}",
          p["balance_over"] == "sample" ? "seq_aux_loss" : "aux_loss", p["balance_loss"]);
}

/// All experts of a device run as one grouped product.
void add_experts(MegatronLines& out, Named& p) {
  out.add("--num-experts {}\n--moe-router-topk {}\n--moe-ffn-hidden-size {}", p["experts"], p["chosen"],
          p["expert_width"]);
  out.add("--moe-grouped-gemm\n--moe-token-dispatcher-type alltoall");
  if (!p["shared_width"].empty() && p["shared_width"] != "0")
    out.add("--moe-shared-expert-intermediate-size {}", p["shared_width"]);
  add_router(out, p);
}

void add_mixtral(MegatronLines& out, Named& p) {
  out.add("--ffn-hidden-size {}", p["expert_width"]);
  add_grouped_attention(out, p);
  add_rotary(out, p);
  add_scaling(out, models::parse_rope_scaling(p["rope_scaling"]));
  add_experts(out, p);
  if (p["shared_gate"] == "yes") out.add("--moe-shared-expert-gate");
  for (const char* key : {"expert_bias", "expert_clamp"})
    if (p[key] == "yes") out.leave_out(std::string(key) + " yes");
}

void add_deepseek(MegatronLines& out, Named& p) {
  const std::int64_t dense = std::stoll(p["dense_layers"]), layers = std::stoll(p["layers"]);
  out.add("--ffn-hidden-size {}\n--multi-latent-attention\n--qk-layernorm", p["feed_forward"]);
  if (p["query_rank"] != "0") out.add("--q-lora-rank {}", p["query_rank"]);
  out.add("--kv-lora-rank {}\n--qk-head-dim {}\n--qk-pos-emb-head-dim {}\n--v-head-dim {}", p["key_rank"],
          p["head_width"], p["rotary_width"], p["value_width"]);
  add_rotary(out, p);
  add_latent_scaling(out, models::parse_rope_scaling(p["rope_scaling"]));
  add_experts(out, p);
  out.add("--moe-router-score-function {}", p["scores"]);
  if (dense > 0) out.add("--moe-layer-freq \"([0]*{}+[1]*{})\"", dense, layers - dense);
}

/// Megatron-LM's decoders are causal; it has no argument for another mask except a window.
void add_mask(MegatronLines& out, Named& p) {
  if (p["mask"] == "none") out.leave_out("mask none");
  if (const auto window = p.find("window"); window != p.end() && window->second != "0")
    out.add("--window-size \"({},0)\"", std::stoll(window->second) - 1);  // tokens before, and after
}

void add_learned_decoder(MegatronLines& out, Named& p) {
  if (p["activation"] == "swiglu") out.add("--swiglu");
  if (p["activation"] == "relu") out.leave_out("activation relu");
  const bool usual =
      p["feed_forward"] == "0";  // four times the width, which Megatron-LM takes without a gate
  if (!usual || p["activation"] == "swiglu")
    out.add("--ffn-hidden-size {}", usual ? std::to_string(4 * std::stoll(p["hidden"])) : p["feed_forward"]);
  out.add("--max-position-embeddings {}", p["positions"] == "0" ? p["sequence"] : p["positions"]);
  out.add("--position-embedding-type learned_absolute");
  if (p["biases"] == "no") out.add("--disable-bias-linear");
  add_norms_and_dropout(out, p);
  if (p["experts"] == "0") return;
  if (p["expert_width"] == "0")
    p["expert_width"] = usual ? std::to_string(4 * std::stoll(p["hidden"])) : p["feed_forward"];
  add_experts(out, p);
}

/// A list of 0 and 1 for each layer, as Megatron-LM's arguments take it; "" where all are 0.
std::string layer_flags(const std::string& text, std::size_t layers,
                        bool (*is_one)(const models::LayerWord&)) {
  auto words = models::parse_layer_words(text, models::kDeepest);
  if (words.size() == 1) words.resize(layers, words.front());
  words.resize(layers);
  std::string out;
  for (const auto& word : words) out += fmt::format("{}{}", out.empty() ? "" : ",", is_one(word) ? 1 : 0);
  return out.find('1') == out.npos ? "" : "\"([" + out + "])\"";
}

/// Windows, and layers without rotary positions.
void add_described_mixers(MegatronLines& out, Named& p, std::size_t layers) {
  const auto words = models::parse_layer_words(p["mixers"], models::kDeepest);
  const auto flags = [&](const char* argument, bool (*is_one)(const models::LayerWord&)) {
    if (const std::string list = layer_flags(p["mixers"], layers, is_one); !list.empty())
      out.add("{} {}", argument, list);
  };
  for (const auto& word : words)
    if (word.word == "window") {
      out.add("--window-size \"({},0)\"", word.number - 1);
      break;
    }
  flags("--window-attn-skip-freq", [](const models::LayerWord& one) { return one.word == "window"; });
  if (p["learned_positions"] == "0")
    flags("--no-rope-freq", [](const models::LayerWord& one) { return one.word == "nope"; });
}

void add_described_attention(MegatronLines& out, Named& p) {
  if (p["mixers"] == "latent") {
    out.add("--multi-latent-attention\n--qk-layernorm");
    if (p["query_rank"] != "0") out.add("--q-lora-rank {}", p["query_rank"]);
    out.add("--kv-lora-rank {}\n--qk-head-dim {}\n--qk-pos-emb-head-dim {}\n--v-head-dim {}", p["key_rank"],
            p["head_width"], p["rotary_width"], p["value_width"]);
    return;
  }
  if (p["kv_heads"] != p["heads"]) out.add("--group-query-attention\n--num-query-groups {}", p["kv_heads"]);
  out.add("--kv-channels {}", p["head_width"]);
  if (p["attention_bias"] == "qkv") out.add("--add-qkv-bias");
  if (p["qk_norm"] == "plain") out.add("--qk-l2-norm");
  if (p["qk_norm"] == "head" || p["qk_norm"] == "layer") out.add("--qk-layernorm");
  if (p["sinks"] == "yes") out.add("--softmax-type learnable");
}

void add_described_positions(MegatronLines& out, Named& p) {
  if (p["learned_positions"] != "0")
    return out.add("--max-position-embeddings {}\n--position-embedding-type learned_absolute",
                   p["learned_positions"]);
  add_rotary_positions(out, p);
  const models::RopeScaling scaling = models::parse_rope_scaling(p["rope_scaling"]);
  p["mixers"] == "latent" ? add_latent_scaling(out, scaling) : add_scaling(out, scaling);
}

/// Writes the words of all parts that megatron_unknown_parts() does not name.
void add_described(MegatronLines& out, Named& p) {
  const auto layers = static_cast<std::size_t>(std::stoll(p["layers"]));
  out.add("--ffn-hidden-size {}", p["feed_forward"]);
  add_described_attention(out, p);
  add_described_mixers(out, p, layers);
  add_described_positions(out, p);
  if (p["norm"] == "rms") out.add("--normalization RMSNorm");
  if (p["gated"] == "yes") out.add("--swiglu");
  if (p["activation"] == "relu2") out.add("--squared-relu\n--no-bias-gelu-fusion");
  if (p["attention_bias"] != "yes" && p["attention_bias"] != "output") out.add("--disable-bias-linear");
  add_norms_and_dropout(out, p);
  const std::string experts = layer_flags(p["feed_forwards"], layers,
                                          [](const models::LayerWord& one) { return one.word == "experts"; });
  if (experts.empty()) return;
  add_experts(out, p);
  out.add("--moe-router-score-function {}\n--moe-layer-freq {}", p["scores"], experts);
  if (p["shared_gate"] == "yes") out.add("--moe-shared-expert-gate");
}

}  // namespace

void add_megatron_model(MegatronLines& out, const Handover& handover) {
  auto p = all_parameters(handover.plan.model);
  const std::map<std::string, void (*)(MegatronLines&, Named&)> families = {{"llama", add_rotary_decoder},
                                                                            {"mixtral", add_mixtral},
                                                                            {"deepseek_v3", add_deepseek},
                                                                            {"gpt", add_learned_decoder},
                                                                            {"decoder", add_described}};
  const auto family = families.find(handover.plan.model.name);
  if (family == families.end()) {
    out.add("# The model's own arguments are left to you: {} is none that is known here",
            handover.graph.name());
    out.add("--num-layers {}", handover.layers.row.layers);
    for (std::string& value : model_values(handover.plan.model)) out.leave_out(std::move(value));
    return;
  }
  out.add("--num-layers {}\n--hidden-size {}\n--num-attention-heads {}", p["layers"], p["hidden"],
          p["heads"]);
  family->second(out, p);
  add_mask(out, p);
  out.add("--seq-length {}\n--vocab-size {}\n--make-vocab-size-divisible-by 1", p["sequence"],
          p["vocabulary"]);
  if (p["tied_head"] == "no") out.add("--untie-embeddings-and-output-weights");
  if (p["loss"] == "native" || p["loss"] == "te")
    out.add("--cross-entropy-loss-fusion\n--cross-entropy-fusion-impl {}", p["loss"]);
  out.add("--attention-backend {}",
          p["attention"] == "flash" || p["attention"].empty() ? "flash" : "unfused");
}

}  // namespace penstock::frameworks
