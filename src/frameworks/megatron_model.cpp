#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "layer_list.hpp"
#include "megatron_parts.hpp"
#include "megatron_run.hpp"

namespace penstock::frameworks {
namespace {

using Parameters = std::map<std::string, std::string>;

std::string in_text(std::int64_t number) {
  return std::to_string(number);
}

std::int64_t rounded_up(std::int64_t number, std::int64_t step) {
  return (number + step - 1) / step * step;
}

/// Vocabulary as Megatron-LM pads it, so that every device of a group has as many rows.
std::int64_t vocabulary(MegatronArguments& args, std::int64_t tensor, const Parameters& given) {
  const char* const padded =
      args.spelling({"padded_vocab_size", "pad_vocab_size_to"});  // Megatron-DeepSpeed's
  if (args.has(padded)) return args.count(padded);
  const std::int64_t step = args.count("make_vocab_size_divisible_by", 128) * tensor;
  if (args.has("vocab_size")) return rounded_up(args.count("vocab_size"), step);
  if (given.contains("vocabulary")) return 1;  // and is put in its place
  args.fail("vocab_size", "is not given, and the tokenizer's is not read: -p vocabulary=N");
}

/// Reads all of Llama's decoder except the feed-forward.
void read_rotary(MegatronArguments& args, Parameters& out) {
  const std::int64_t hidden = args.count("hidden_size"), heads = args.count("num_attention_heads");
  out["kv_heads"] = in_text(kv_heads(args));
  const std::int64_t head = args.count("kv_channels", hidden / heads);
  if (head * heads != hidden) out["head_width"] = in_text(head);
  if (args.flag("add_qkv_bias")) out["qkv_bias"] = "yes";
  if (args.flag("qk_layernorm")) out["qk_norm"] = "yes";
}

/// FlagScale's width: two thirds of four times the hidden one, by a factor, up to a multiple.
std::int64_t stepped_width(MegatronArguments& args) {
  constexpr double kMostFactor = 1000;
  const std::int64_t plain = 4 * args.count("hidden_size") * 2 / 3, step = args.count("multiple_of");
  const double factor = args.number("hidden_dim_multiplier", 1);
  if (factor == 0 || factor > kMostFactor)
    args.fail("hidden_dim_multiplier", "expected a number from above 0 to 1000");
  return rounded_up(static_cast<std::int64_t>(std::floor(static_cast<double>(plain) * factor)), step);
}

void read_llama(MegatronArguments& args, Parameters& out) {
  out["feed_forward"] = in_text(gated_width(args));
  read_rotary(args, out);
}

/// MindSpeed's, each as wide as one that is chosen.
void add_shared_experts(MegatronArguments& args, Parameters& out) {
  const std::string width = in_text(args.count("n_shared_experts") * std::stoll(out["expert_width"]));
  if (out.contains("shared_width") && out["shared_width"] != "0" && out["shared_width"] != width)
    args.fail(
        "n_shared_experts",
        fmt::format(
            "makes shared experts {} wide, and moe_shared_expert_intermediate_size {}: keep one of them",
            width, out["shared_width"]));
  out["shared_width"] = width;
}

std::int64_t first_dense(MegatronArguments& args, std::int64_t layers) {
  const std::string text = args.text("first_k_dense_replace", "0");
  const std::int64_t out = text == "0" ? 0 : args.count("first_k_dense_replace");
  if (out > layers)
    args.fail("first_k_dense_replace", fmt::format("is {}, and the model has {} layers", out, layers));
  return out;
}

void read_mixtral(MegatronArguments& args, Parameters& out) {
  read_rotary(args, out);
  read_experts(args, out, gated_width(args));
  if (args.flag("moe_shared_expert_gate")) out["shared_gate"] = "yes";
}

/// Layers without experts come first.
void read_deepseek(MegatronArguments& args, Parameters& out) {
  read_latent(args, out);
  out["feed_forward"] = in_text(gated_width(args));
  out["dense_layers"] = in_text(std::ranges::count(expert_layers(args), 0));
  out["scores"] = args.word("moe_router_score_function", {"softmax", "sigmoid"}, "softmax");
  out["shared_width"] = "0";
  read_experts(args, out, gated_width(args));
}

void read_gpt(MegatronArguments& args, Parameters& out) {
  if (!has_biases(args)) out["biases"] = "no";
  const bool gated = is_gated(args);
  if (gated) out["activation"] = "swiglu";
  out["feed_forward"] =
      in_text(gated ? gated_width(args) : args.count("ffn_hidden_size", 4 * args.count("hidden_size")));
  if (has_dropout(args)) out["dropout"] = "yes";
  out["positions"] = in_text(args.count("max_position_embeddings"));
  if (has_experts(args)) read_experts(args, out, std::stoll(out["feed_forward"]));
}

/// By --untie-embeddings-and-output-weights, or what Megatron-Bridge calls it.
bool tied_head(MegatronArguments& args) {
  constexpr const char *kUntie = "untie_embeddings_and_output_weights",
                       *kShare = "share_embeddings_and_output_weights";
  const bool untied = args.flag(kUntie);
  if (!args.has(kShare)) return !untied;
  const bool shared = args.flag(kShare);
  if (args.has(kUntie) && shared == untied)
    args.fail(kShare, fmt::format("is {}, and {} is {}: keep one of them", shared, kUntie, untied));
  return shared;
}

/// Name of the zoo's, of a decoder. RMS norms, rotary positions and SwiGLU make a Llama; layer norms and learned positions a GPT.
std::string family_of(MegatronArguments& args) {
  if (is_described(args)) return "decoder";
  if (args.word("normalization", {"LayerNorm", "RMSNorm"}, "LayerNorm") == "LayerNorm") return "gpt";
  return args.flag("multi_latent_attention") ? "deepseek_v3" : has_experts(args) ? "mixtral" : "llama";
}

/// The zoo's name for the kernels of the cross entropy.
std::string loss_kernel(MegatronArguments& args) {
  const std::string fused = args.word("cross_entropy_fusion_impl", {"native", "te"}, "native");
  return args.flag("cross_entropy_loss_fusion") ? fused : "yes";
}

}  // namespace

bool is_gated(MegatronArguments& args) {
  const std::string activation = args.text("glu_activation", "swiglu");
  if (activation != "swiglu")
    args.fail(
        "glu_activation",
        fmt::format("expected swiglu, found '{}': no family of the zoo has this activation", activation));
  return args.flag("swiglu") || args.flag("gated_linear_unit") || args.has("glu_activation");
}

bool has_experts(MegatronArguments& args) {
  return args.has("num_experts") || args.has("num_moe_experts");
}

bool has_biases(MegatronArguments& args) {
  return !args.flag("disable_bias_linear") && (!args.has("add_bias_linear") || args.flag("add_bias_linear"));
}

std::int64_t kv_heads(MegatronArguments& args) {
  const bool flag = args.flag("group_query_attention");
  if (args.of_command_line() && !flag && args.has("num_query_groups"))
    args.fail("num_query_groups",
              "Megatron-LM ignores it without --group-query-attention: add that argument, or leave "
              "this one out");
  const bool grouped = flag || args.has("num_query_groups");
  return grouped ? args.count("num_query_groups", 1) : args.count("num_attention_heads");
}

std::int64_t gated_width(MegatronArguments& args) {
  constexpr std::int64_t kGateStep = 64;  // two thirds of four times the width, in steps
  const bool stepped = args.has("multiple_of"), factor = args.has("hidden_dim_multiplier");
  if (factor && !stepped)
    args.fail("hidden_dim_multiplier", "counts beside multiple_of only, which is not given");
  if (stepped && !args.has("ffn_hidden_size")) return stepped_width(args);
  if (args.has("glu_activation") && !args.has("ffn_hidden_size")) return 4 * args.count("hidden_size");
  return args.count("ffn_hidden_size", 4 * args.count("hidden_size") * 2 / 3 / kGateStep * kGateStep);
}

void read_experts(MegatronArguments& args, Parameters& out, std::int64_t dense) {
  out["experts"] = in_text(args.count(args.has("num_experts") ? "num_experts" : "num_moe_experts"));
  out["chosen"] = in_text(args.count("moe_router_topk", 2));
  const char* const width = args.spelling({"moe_ffn_hidden_size", "moe_intermediate_size"});
  out["expert_width"] = in_text(args.count(width, dense));
  constexpr const char* kShared = "moe_shared_expert_intermediate_size";
  if (args.has(kShared)) out["shared_width"] = in_text(args.count(kShared));
  if (args.has("n_shared_experts")) add_shared_experts(args, out);
  for (const char* how : {"moe_grouped_gemm", "moe_token_dispatcher_type"}) args.has(how);
}

std::vector<std::int64_t> expert_layers(MegatronArguments& args) {
  const std::int64_t layers = layer_count(args);
  const std::string text = args.text("moe_layer_freq", "1");
  std::vector<std::int64_t> out;
  if (std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
    const std::int64_t every = args.count("moe_layer_freq", 1), dense = first_dense(args, layers);
    for (std::int64_t i = 0; i < layers; ++i) out.push_back(i >= dense && i % every == 0 ? 1 : 0);
    return out;
  }
  if (args.has("first_k_dense_replace"))
    args.fail("first_k_dense_replace", "moe_layer_freq lists all layers: keep one of them");
  try {
    out = parse_layer_list(text);
  } catch (const core::BadInput& e) {
    args.fail("moe_layer_freq", e.what());
  }
  if (std::ssize(out) != layers)
    args.fail("moe_layer_freq", fmt::format("'{}' has {} layers, the model {}", text, out.size(), layers));
  const bool flags = std::ranges::all_of(out, [](std::int64_t kind) { return kind == 0 || kind == 1; });
  if (!flags || std::ranges::count(out, 1) == 0)
    args.fail("moe_layer_freq", "expected 1 for layers with experts, at least one, and 0 for the others");
  return out;
}

void read_latent(MegatronArguments& args, Parameters& out) {
  args.has("qk_layernorm");  // the zoo's latent attention has its norms
  out["query_rank"] = in_text(args.has("q_lora_rank") ? args.count("q_lora_rank") : 0);
  out["key_rank"] = in_text(args.count("kv_lora_rank", 32));
  out["head_width"] = in_text(args.count("qk_head_dim", 128));
  out["rotary_width"] = in_text(args.count("qk_pos_emb_head_dim", 64));
  out["value_width"] = in_text(args.count("v_head_dim", 128));
}

bool has_dropout(MegatronArguments& args) {
  constexpr double kUsual = 0.1;
  const double attention = args.number("attention_dropout", kUsual);
  return args.number("hidden_dropout", kUsual) > 0 || attention > 0;
}

plan::ModelRef read_megatron_model(MegatronArguments& args, std::int64_t tensor, const Parameters& given,
                                   bool flash) {
  plan::ModelRef out;
  Parameters& p = out.parameters;
  p["layers"] = in_text(layer_count(args));
  p["hidden"] = in_text(args.count("hidden_size"));
  p["heads"] = in_text(args.count("num_attention_heads"));
  const std::string encoder = encoder_family(args);
  out.name = encoder.empty() ? family_of(args) : encoder;
  if (encoder.empty()) p["sequence"] = in_text(args.count("seq_length"));
  p["vocabulary"] = in_text(vocabulary(args, tensor, given));
  p["tied_head"] = tied_head(args) ? "yes" : "no";
  p["loss"] = loss_kernel(args);
  const std::string backend =
      args.word("attention_backend", {"flash", "fused", "unfused", "local", "auto"}, "auto");
  // Layers without Transformer Engine have only plain attention.
  const bool local = args.word("transformer_impl", {"local", "transformer_engine", "inference_optimized"},
                               "transformer_engine") == "local" ||
                     (out.name == "bert" && args.text("spec", "") == "local");
  const bool plain = local || backend == "unfused" || backend == "local" || !flash;
  if (out.name != "deepseek_v3") p["attention"] = plain ? "plain" : "flash";
  if (out.name == "llama") read_llama(args, p);
  if (out.name == "mixtral") read_mixtral(args, p);
  if (out.name == "deepseek_v3") read_deepseek(args, p);
  if (out.name == "gpt") read_gpt(args, p);
  if (out.name == "decoder") read_described(args, p);
  if (!encoder.empty()) read_encoder(args, encoder, p);
  if (encoder.empty()) read_megatron_statements(args, out);
  for (const auto& [key, value] : given) p[key] = value;
  return out;
}

}  // namespace penstock::frameworks
