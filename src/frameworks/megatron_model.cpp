#include <fmt/format.h>

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

/// As Megatron-LM pads it, so that every device of a group has as many rows.
std::int64_t vocabulary(MegatronArguments& args, std::int64_t tensor, const Parameters& given) {
  if (args.has("padded_vocab_size")) return args.count("padded_vocab_size");
  const std::int64_t step = args.count("make_vocab_size_divisible_by", 128) * tensor;
  if (args.has("vocab_size")) return rounded_up(args.count("vocab_size"), step);
  if (given.contains("vocabulary")) return 1;  // and is put in its place
  args.fail("vocab_size", "is not given, and the tokenizer's is not read: -p vocabulary=N");
}

/// RMS norms, rotary positions and SwiGLU make a Llama; layer norms, learned positions and GELU a GPT.
bool is_llama(MegatronArguments& args) {
  const bool rms = args.word("normalization", {"LayerNorm", "RMSNorm"}, "LayerNorm") == "RMSNorm";
  const bool gated = args.flag("swiglu") || args.flag("gated_linear_unit");
  const std::string usual = args.flag("use_rotary_position_embeddings") ? "rope" : "learned_absolute";
  const bool rotary = args.word("position_embedding_type", {"learned_absolute", "rope"}, usual) == "rope";
  if (rms != gated || rms != rotary)
    args.fail("normalization",
              "no family of the zoo mixes these: RMSNorm, rope and swiglu make a llama; LayerNorm, "
              "learned_absolute "
              "and GELU a gpt");
  return rms;
}

bool has_experts(MegatronArguments& args) {
  return args.has("num_experts") || args.has("num_moe_experts");
}

/// Of Llama's decoder all that is no feed-forward.
void read_rotary(MegatronArguments& args, Parameters& out) {
  const std::int64_t hidden = args.count("hidden_size"), heads = args.count("num_attention_heads");
  if (!args.flag("disable_bias_linear") && (!args.has("add_bias_linear") || args.flag("add_bias_linear")))
    args.fail("disable_bias_linear", "is not given: the zoo's llama has no biases");
  const bool grouped = args.flag("group_query_attention") || args.has("num_query_groups");
  out["kv_heads"] = in_text(grouped ? args.count("num_query_groups", 1) : heads);
  args.has("max_position_embeddings");  // rotary positions know no end
  const std::int64_t head = args.count("kv_channels", hidden / heads);
  if (head * heads != hidden) out["head_width"] = in_text(head);
  if (args.flag("add_qkv_bias")) out["qkv_bias"] = "yes";
  if (args.flag("qk_layernorm")) out["qk_norm"] = "yes";
}

std::int64_t feed_forward(MegatronArguments& args) {
  constexpr std::int64_t kGateStep = 64;  // two thirds of four times the width, in steps
  return args.count("ffn_hidden_size", 4 * args.count("hidden_size") * 2 / 3 / kGateStep * kGateStep);
}

void read_llama(MegatronArguments& args, Parameters& out) {
  out["feed_forward"] = in_text(feed_forward(args));
  read_rotary(args, out);
}

/// How rows come to their experts, and how these are run, changes no model.
void read_mixtral(MegatronArguments& args, Parameters& out) {
  read_rotary(args, out);
  out["experts"] = in_text(args.count(args.has("num_experts") ? "num_experts" : "num_moe_experts"));
  out["chosen"] = in_text(args.count("moe_router_topk", 2));
  out["expert_width"] = in_text(args.count("moe_ffn_hidden_size", feed_forward(args)));
  if (args.has("moe_shared_expert_intermediate_size"))
    out["shared_width"] = in_text(args.count("moe_shared_expert_intermediate_size"));
  if (args.flag("moe_shared_expert_gate")) out["shared_gate"] = "yes";
  for (const char* how : {"moe_grouped_gemm", "moe_token_dispatcher_type"}) args.has(how);
}

void read_gpt(MegatronArguments& args, Parameters& out) {
  if (args.flag("disable_bias_linear")) args.fail("disable_bias_linear", "the zoo's gpt has biases");
  if (args.flag("group_query_attention"))
    args.fail("group_query_attention", "the zoo's gpt has keys and values of each head");
  out["feed_forward"] = in_text(args.count("ffn_hidden_size", 4 * args.count("hidden_size")));
  out["positions"] = in_text(args.count("max_position_embeddings"));
}

}  // namespace

plan::ModelRef read_megatron_model(MegatronArguments& args, std::int64_t tensor, const Parameters& given) {
  plan::ModelRef out{is_llama(args) ? has_experts(args) ? "mixtral" : "llama" : "gpt", {}};
  if (out.name == "gpt" && has_experts(args))
    args.fail("num_experts", "the zoo's experts are between Llama's attention: RMSNorm, rope and swiglu");
  Parameters& p = out.parameters;
  p["layers"] = in_text(args.count("num_layers"));
  p["hidden"] = in_text(args.count("hidden_size"));
  p["heads"] = in_text(args.count("num_attention_heads"));
  p["sequence"] = in_text(args.count("seq_length"));
  p["vocabulary"] = in_text(vocabulary(args, tensor, given));
  p["tied_head"] = args.flag("untie_embeddings_and_output_weights") ? "no" : "yes";
  p["loss"] = "yes";
  p["attention"] = args.text("attention_backend", "flash") == "unfused" ? "plain" : "flash";
  if (out.name == "llama") read_llama(args, p);
  if (out.name == "mixtral") read_mixtral(args, p);
  if (out.name == "gpt") read_gpt(args, p);
  for (const auto& [key, value] : given) p[key] = value;
  return out;
}

}  // namespace penstock::frameworks
