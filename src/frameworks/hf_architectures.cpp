#include "hf_architectures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "decoder_keys.hpp"
#include "hf_statements.hpp"

namespace penstock::frameworks {
namespace {

using Tokens = std::optional<std::int64_t>;

std::string shown(std::int64_t count) {
  return std::to_string(count);
}

const char* yes(bool flag) {
  return flag ? "yes" : "no";
}

void set(ConfigKeys& keys, Parameters& out, const char* parameter, std::string_view key) {
  out[parameter] = shown(keys.count(key));
}

/// Tokens of a sample, and beside them the rows of a table of learned positions.
void set_positions(ConfigKeys& keys, Tokens tokens, Parameters& out, std::string_view key) {
  const std::int64_t positions = keys.count(key);
  if (tokens && *tokens > positions)
    keys.fail(key, fmt::format("the model knows {} positions, fewer than {} tokens", positions, *tokens));
  out["positions"] = shown(positions);
  out["sequence"] = shown(tokens.value_or(positions));
}

/// A window that samples fit in leaves nothing out.
void demand_whole_attention(ConfigKeys& keys, std::int64_t tokens) {
  const std::int64_t size = keys.count("sliding_window", tokens);
  if (size < tokens)
    keys.fail(
        "sliding_window",
        fmt::format("attention sees {} tokens of {}, where the zoo's sees all: take samples of {} tokens "
                    "or fewer (--tokens {}; of --model, -p sequence={})",
                    size, tokens, size, size, size));
}

/// A window narrower than the samples hides tokens in every layer.
void read_window(ConfigKeys& keys, Parameters& out) {
  const std::int64_t tokens = std::stoll(out["sequence"]), size = keys.count("sliding_window", tokens);
  if (size < tokens) out["window"] = shown(size);
}

/// Reads keys that all decoders with rotary positions share.
void read_decoder(ConfigKeys& keys, Tokens tokens, Parameters& out, std::int64_t usual_positions) {
  keys.demand("hidden_act", {"silu", "swish"}, "silu");
  set(keys, out, "vocabulary", "vocab_size");
  set(keys, out, "hidden", "hidden_size");
  set(keys, out, "layers", "num_hidden_layers");
  set(keys, out, "heads", "num_attention_heads");
  const std::int64_t positions = keys.count("max_position_embeddings", usual_positions);
  out["sequence"] = shown(tokens.value_or(positions));
  out["tied_head"] = yes(keys.flag("tie_word_embeddings", false));
}

/// Reads keys of a decoder, and those that Llama, Mistral and Qwen share, with experts or without.
void read_grouped_decoder(ConfigKeys& keys, Tokens tokens, Parameters& out, std::int64_t usual_positions,
                          std::int64_t usual_head) {
  read_decoder(keys, tokens, out, usual_positions);
  const std::int64_t hidden = keys.count("hidden_size"), heads = keys.count("num_attention_heads");
  const std::int64_t groups = keys.count("num_key_value_heads", heads);
  if (heads % groups != 0)
    keys.fail("num_key_value_heads", fmt::format("{} do not divide {} attention heads", groups, heads));
  out["kv_heads"] = shown(groups);
  const std::int64_t head = keys.count("head_dim", usual_head > 0 ? usual_head : hidden / heads);
  if (head * heads != hidden) out["head_width"] = shown(head);
}

void read_rotary_decoder(ConfigKeys& keys, Tokens tokens, Parameters& out, std::int64_t usual_positions,
                         std::int64_t usual_head) {
  read_grouped_decoder(keys, tokens, out, usual_positions, usual_head);
  set(keys, out, "feed_forward", "intermediate_size");
}

void read_llama(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  read_rotary_decoder(keys, tokens, out, 2048, 0);
  read_rotary_statements(keys, {}, out);
  keys.demand("attention_bias", false, false, "the zoo's attention has no bias at its output");
  keys.demand("mlp_bias", false, false, "the zoo's feed-forward has no biases");
}

void read_mistral(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  constexpr std::int64_t kPositions = 131'072;
  read_rotary_decoder(keys, tokens, out, kPositions, 0);
  read_rotary_statements(keys, {}, out);
  read_window(keys, out);
}

/// Qwen's windows are off unless switched on; the layers that would have one are given in words or by a
/// number.
void read_qwen_windows(ConfigKeys& keys, std::int64_t tokens) {
  keys.pass({"max_window_layers"});
  if (keys.flag("use_sliding_window", false))
    demand_whole_attention(keys, tokens);
  else
    keys.pass({"sliding_window"});
  if (const auto types = keys.find("layer_types"))
    for (const core::Yaml& type : types->items())
      if (type.text() != "full_attention") type.fail("expected full_attention, as the zoo's");
}

void read_qwen2(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  read_rotary_decoder(keys, tokens, out, 32'768, 0);
  read_rotary_statements(keys, {}, out);
  read_qwen_windows(keys, std::stoll(out["sequence"]));
  keys.demand("use_mrope", false, false, "the zoo's positions are those of a text");
  out["qkv_bias"] = "yes";
}

void read_qwen3(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  constexpr std::int64_t kHead = 128;
  read_rotary_decoder(keys, tokens, out, 32'768, kHead);
  read_rotary_statements(keys, {}, out);
  read_qwen_windows(keys, std::stoll(out["sequence"]));
  keys.demand("attention_bias", false, false, "the zoo's attention has no bias at its output");
  out["qk_norm"] = "yes";
}

/// How scores become weights changes no operator's size; what balances experts is a term of the loss.
void read_routing(ConfigKeys& keys, const HfRouterDefaults& usual, Parameters& out) {
  keys.pass({"output_router_logits"});
  read_router_statements(keys, usual, out);
}

/// Every layer has experts.
void demand_experts_everywhere(ConfigKeys& keys) {
  if (keys.count("decoder_sparse_step", 1) != 1)
    keys.fail("decoder_sparse_step", "expected 1: the zoo's layers all have experts");
  if (const auto dense = keys.find("mlp_only_layers"); dense && !dense->items().empty())
    dense->fail("expected none: the zoo's layers all have experts");
  keys.pass({"intermediate_size"});  // of layers without
}

void read_mixtral(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  constexpr std::int64_t kPositions = 131'072;
  constexpr double kBase = 1e6, kEpsilon = 1e-5;
  read_grouped_decoder(keys, tokens, out, kPositions, 0);
  read_rotary_statements(keys, {kBase, kEpsilon}, out);
  read_window(keys, out);
  keys.pass({"norm_topk_prob"});
  read_routing(keys, {}, out);
  out["router_normalised"] = "yes";
  set(keys, out, "experts", "num_local_experts");
  set(keys, out, "chosen", "num_experts_per_tok");
  set(keys, out, "expert_width", "intermediate_size");
}

/// transformers 5 writes the number of experts as Mixtral's configs do.
const char* experts_key(ConfigKeys& keys) {
  constexpr const char *kOwn = "num_experts", *kMixtrals = "num_local_experts";
  if (!keys.find(kMixtrals)) return kOwn;
  if (keys.find(kOwn) && keys.count(kOwn) != keys.count(kMixtrals))
    keys.fail(kMixtrals, fmt::format("expected {}, as num_experts says", keys.count(kOwn)));
  return kMixtrals;
}

void read_qwen_experts(ConfigKeys& keys, Parameters& out) {
  read_qwen_windows(keys, std::stoll(out["sequence"]));
  demand_experts_everywhere(keys);
  read_rotary_statements(keys, {}, out);
  read_routing(keys, {}, out);
  set(keys, out, "experts", experts_key(keys));
  set(keys, out, "chosen", "num_experts_per_tok");
  set(keys, out, "expert_width", "moe_intermediate_size");
}

void read_qwen2_moe(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  read_grouped_decoder(keys, tokens, out, 32'768, 0);
  read_qwen_experts(keys, out);
  set(keys, out, "shared_width", "shared_expert_intermediate_size");
  out["shared_gate"] = "yes";
  out["qkv_bias"] = yes(keys.flag("qkv_bias", true));
}

void read_qwen3_moe(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  read_grouped_decoder(keys, tokens, out, 32'768, 0);
  read_qwen_experts(keys, out);
  keys.demand("attention_bias", false, false, "the zoo's attention has no bias at its output");
  out["qk_norm"] = "yes";
}

void read_olmoe(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  read_grouped_decoder(keys, tokens, out, 4096, 0);
  keys.demand("attention_bias", false, false, "the zoo's attention has no bias at its output");
  if (keys.find("clip_qkv")) keys.fail("clip_qkv", "expected null: the zoo's attention clips nothing");
  constexpr double kEpsilon = 1e-5, kLoss = 0.01;
  read_rotary_statements(keys, {.epsilon = kEpsilon}, out);
  read_routing(keys, {.balance_loss = kLoss}, out);
  set(keys, out, "experts", "num_experts");
  set(keys, out, "chosen", "num_experts_per_tok");
  set(keys, out, "expert_width", "intermediate_size");
  if (out.contains("head_width"))
    keys.fail("head_dim",
              "expected hidden_size / num_attention_heads: transformers' norms of queries and keys are as "
              "wide as all heads together");
  out["qk_norm"] = "whole";
}

void read_latent_attention(ConfigKeys& keys, Parameters& out) {
  keys.demand("attention_bias", false, false, "the zoo's attention has no bias at its output");
  const std::int64_t heads = keys.count("num_attention_heads");
  if (keys.count("num_key_value_heads", heads) != heads)
    keys.fail("num_key_value_heads", fmt::format("expected {}: latent attention shares no heads", heads));
  out["query_rank"] = shown(keys.count("q_lora_rank", 0));
  set(keys, out, "key_rank", "kv_lora_rank");
  set(keys, out, "head_width", "qk_nope_head_dim");
  set(keys, out, "rotary_width", "qk_rope_head_dim");
  set(keys, out, "value_width", "v_head_dim");
  keys.pass({"head_dim", "qk_head_dim", "rope_interleave"});
}

/// DeepSeek's checkpoints hold a module that transformers leaves out; groups of experts and their biases change
/// what is chosen, not how much.
void read_deepseek(ConfigKeys& keys, Tokens tokens, Parameters& out, bool third) {
  read_decoder(keys, tokens, out, 4096);
  read_latent_attention(keys, out);
  read_rotary_statements(keys, {}, out);
  read_deepseek_router(keys, third, out);
  keys.pass({"num_nextn_predict_layers", "auto_map", "ep_size", "n_group", "topk_group", "norm_topk_prob",
             "output_router_logits", "router_aux_loss_coef", "router_jitter_noise"});
  if (keys.count("moe_layer_freq", 1) != 1)
    keys.fail("moe_layer_freq", "expected 1: the zoo's layers behind the dense ones all have experts");
  const auto dense = keys.find("first_k_dense_replace");
  const std::int64_t layers = keys.count("num_hidden_layers");
  out["dense_layers"] =
      shown(dense ? dense->integer(0, layers) : std::min(layers, keys.left_out("first_k_dense_replace", 0)));
  set(keys, out, "feed_forward", "intermediate_size");
  set(keys, out, "experts", "n_routed_experts");
  set(keys, out, "chosen", "num_experts_per_tok");
  set(keys, out, "expert_width", "moe_intermediate_size");
  const std::int64_t shared = keys.count("n_shared_experts", 0);
  out["shared_width"] = shown(shared * keys.count("moe_intermediate_size"));
}

void read_deepseek_v2(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  read_deepseek(keys, tokens, out, false);
  keys.demand("mlp_bias", false, false, "the zoo's feed-forward has no biases");
  keys.demand("scoring_func", {"softmax"}, "softmax");
  out["scores"] = "softmax";
}

void read_deepseek_v3(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  read_deepseek(keys, tokens, out, true);
  keys.demand("scoring_func", {"sigmoid"}, "sigmoid");
}

void read_gpt2(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  keys.demand("activation_function", kGelu, "gelu_new");
  keys.demand("add_cross_attention", false, false, "the zoo's decoder reads nothing beside its own tokens");
  keys.pass({"n_ctx", "scale_attn_weights", "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn",
             "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
             "summary_use_proj"});
  set(keys, out, "vocabulary", "vocab_size");
  set(keys, out, "hidden", "n_embd");
  set(keys, out, "layers", "n_layer");
  set(keys, out, "heads", "n_head");
  out["feed_forward"] = shown(keys.count("n_inner", 4 * keys.count("n_embd")));
  set_positions(keys, tokens, out, "n_positions");
  read_gpt2_statements(keys, out);
  out["tied_head"] = yes(keys.flag("tie_word_embeddings", true));
  out["attention"] = "flash";
}

void read_gpt_neox(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  keys.demand("hidden_act", kGelu, "gelu");
  keys.demand("attention_bias", true, true, "the zoo's attention has biases");
  keys.pass({"rotary_pct", "rotary_emb_base", "partial_rotary_factor", "is_decoder"});
  set(keys, out, "vocabulary", "vocab_size");
  set(keys, out, "hidden", "hidden_size");
  set(keys, out, "layers", "num_hidden_layers");
  set(keys, out, "heads", "num_attention_heads");
  set(keys, out, "feed_forward", "intermediate_size");
  out["sequence"] = shown(tokens.value_or(keys.count("max_position_embeddings", 2048)));
  keys.pass({"max_position_embeddings"});
  out["parallel"] = yes(keys.flag("use_parallel_residual", true));
  out["tied_head"] = yes(keys.flag("tie_word_embeddings", false));
}

void read_opt(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  keys.demand("activation_function", {"relu"}, "relu");
  keys.demand("do_layer_norm_before", true, true, "the zoo's norms stand before attention and feed-forward");
  keys.demand("enable_bias", true, true, "the zoo's layers have biases");
  keys.demand("layer_norm_elementwise_affine", true, true, "the zoo's norms have weights");
  keys.demand("_remove_final_layer_norm", false, false, "the zoo's decoder ends in a norm");
  set(keys, out, "vocabulary", "vocab_size");
  set(keys, out, "hidden", "hidden_size");
  set(keys, out, "layers", "num_hidden_layers");
  set(keys, out, "heads", "num_attention_heads");
  set(keys, out, "feed_forward", "ffn_dim");
  const std::int64_t hidden = keys.count("hidden_size");
  if (keys.count("word_embed_proj_dim", hidden) != hidden)
    keys.fail("word_embed_proj_dim",
              fmt::format("expected {}: the zoo's embeddings are not projected", hidden));
  set_positions(keys, tokens, out, "max_position_embeddings");
  read_opt_statements(keys, out);
  out["tied_head"] = yes(keys.flag("tie_word_embeddings", true));
  out["attention"] = "flash";
}

void read_bert(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  keys.demand("hidden_act", kGelu, "gelu");
  keys.demand("position_embedding_type", {"absolute"}, "absolute");
  keys.demand("is_decoder", false, false, "the zoo's BERT is an encoder");
  keys.demand("add_cross_attention", false, false, "the zoo's encoder reads nothing beside its own tokens");
  keys.pass({"tie_word_embeddings", "directionality", "pooler_fc_size", "pooler_num_attention_heads",
             "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type"});
  if (keys.count("type_vocab_size", 2) != 2)
    keys.fail("type_vocab_size", "expected 2, as the zoo's segments");
  set(keys, out, "vocabulary", "vocab_size");
  set(keys, out, "hidden", "hidden_size");
  set(keys, out, "layers", "num_hidden_layers");
  set(keys, out, "heads", "num_attention_heads");
  set(keys, out, "feed_forward", "intermediate_size");
  set_positions(keys, tokens, out, "max_position_embeddings");
  out["attention"] = "flash";
}

/// Classes are those that the config names; by default there are two.
void read_vit(ConfigKeys& keys, Tokens tokens, Parameters& out) {
  if (tokens)
    keys.fail("image_size",
              "an image has as many tokens as patches and one: no other number can be asked for");
  keys.demand("hidden_act", kGelu, "gelu");
  keys.demand("qkv_bias", true, true, "the zoo's attention has biases");
  keys.pass({"encoder_stride", "pooler_act", "pooler_output_size"});
  if (keys.count("num_channels", 3) != 3) keys.fail("num_channels", "expected 3, as the zoo's images");
  set(keys, out, "hidden", "hidden_size");
  set(keys, out, "layers", "num_hidden_layers");
  set(keys, out, "heads", "num_attention_heads");
  set(keys, out, "feed_forward", "intermediate_size");
  out["resolution"] = shown(keys.count("image_size", 224));
  out["patch"] = shown(keys.count("patch_size", 16));
  const auto labels = keys.find("id2label");
  out["classes"] = shown(keys.count("num_labels", labels ? std::ssize(labels->entries()) : 2));
}

ConfigDefaults with(ConfigDefaults some, const ConfigDefaults& more) {
  some.insert(more.begin(), more.end());
  return some;
}

HfArchitecture described(const DecoderRow& row) {
  return {
      row.model_type,
      "decoder",
      {row.model_class},
      "",
      [&row](ConfigKeys& keys, Tokens tokens, Parameters& out) { read_decoder_row(keys, row, tokens, out); }};
}

/// The language model of a config of configs.
HfArchitecture described_text(std::string_view model_type, std::string_view model_class,
                              std::string_view whole, const DecoderRow& row) {
  return {model_type,
          "decoder",
          {model_class, whole},
          "its language model, without towers",
          [&row](ConfigKeys& keys, Tokens tokens, Parameters& out) {
            ConfigKeys text(keys.at("text_config"));
            read_decoder_row(text, row, tokens, out);
            text.refuse_others(std::string(row.model_type));
            keys.pass({"vision_config", "audio_config", "tie_word_embeddings", "boi_token_index",
                       "eoi_token_index", "image_token_index", "boi_token_id", "eoi_token_id",
                       "image_token_id", "mm_tokens_per_image"});
          }};
}

void add_described(std::vector<HfArchitecture>& all) {
  for (const DecoderRow& row : decoder_rows()) {
    all.push_back(described(row));
    if (row.model_type == "llama4_text")
      all.push_back(described_text("llama4", "Llama4ForCausalLM", "Llama4ForConditionalGeneration", row));
  }
}

}  // namespace

const std::vector<HfArchitecture>& hf_architectures() {
  static const ConfigDefaults kQwen{{"num_key_value_heads", 32}, {"intermediate_size", 22'016}};
  static const ConfigDefaults kLatent{{"q_lora_rank", 1536},
                                      {"kv_lora_rank", 512},
                                      {"qk_nope_head_dim", 128},
                                      {"qk_rope_head_dim", 64},
                                      {"v_head_dim", 128}};
  static const ConfigDefaults kThirdLatent = with(kLatent, {{"intermediate_size", 18'432},
                                                            {"n_routed_experts", 256},
                                                            {"n_shared_experts", 1},
                                                            {"moe_intermediate_size", 2048},
                                                            {"num_experts_per_tok", 8},
                                                            {"first_k_dense_replace", 3}});
  static const std::vector<HfArchitecture> all = [] {
    std::vector<HfArchitecture> out = {
        {"llama", "llama", {"LlamaForCausalLM"}, "", read_llama, {}, {{"intermediate_size", 11'008}}},
        {"mistral",
         "llama",
         {"MistralForCausalLM"},
         "",
         read_mistral,
         {},
         {{"num_key_value_heads", 8}, {"intermediate_size", 14'336}, {"sliding_window", 4096}}},
        {"qwen2", "llama", {"Qwen2ForCausalLM"}, "", read_qwen2, {}, kQwen},
        {"qwen3", "llama", {"Qwen3ForCausalLM"}, "", read_qwen3, {}, kQwen},
        {"mixtral",
         "mixtral",
         {"MixtralForCausalLM"},
         "",
         read_mixtral,
         {},
         {{"num_key_value_heads", 8},
          {"intermediate_size", 14'336},
          {"num_local_experts", 8},
          {"num_experts_per_tok", 2}}},
        {"qwen2_moe",
         "mixtral",
         {"Qwen2MoeForCausalLM"},
         "",
         read_qwen2_moe,
         {},
         {{"num_key_value_heads", 16},
          {"num_experts", 60},
          {"num_experts_per_tok", 4},
          {"moe_intermediate_size", 1408},
          {"shared_expert_intermediate_size", 5632}}},
        {"qwen3_moe",
         "mixtral",
         {"Qwen3MoeForCausalLM"},
         "",
         read_qwen3_moe,
         {},
         {{"num_key_value_heads", 4},
          {"num_experts", 128},
          {"num_experts_per_tok", 8},
          {"moe_intermediate_size", 768}}},
        {"olmoe",
         "mixtral",
         {"OlmoeForCausalLM"},
         "",
         read_olmoe,
         {},
         {{"intermediate_size", 2048}, {"num_experts", 64}, {"num_experts_per_tok", 8}}},
        {"deepseek_v2",
         "deepseek_v3",
         {"DeepseekV2ForCausalLM"},
         "",
         read_deepseek_v2,
         {},
         with(kLatent, {{"intermediate_size", 11'008},
                        {"n_routed_experts", 64},
                        {"n_shared_experts", 2},
                        {"moe_intermediate_size", 1407}})},
        {"deepseek_v3", "deepseek_v3", {"DeepseekV3ForCausalLM"}, "", read_deepseek_v3, {}, kThirdLatent},
        {"kimi_k2", "deepseek_v3", {"DeepseekV3ForCausalLM"}, "", read_deepseek_v3, {}, kThirdLatent},
        {"gpt2", "gpt", {"GPT2LMHeadModel"}, "", read_gpt2, {}, {{"n_positions", 1024}}},
        {"gpt-sw3", "gpt", {"GPT2LMHeadModel"}, "", read_gpt2, {}, {{"n_positions", 1024}}},
        {"gpt_neox",
         "gpt_neox",
         {"GPTNeoXForCausalLM"},
         "",
         read_gpt_neox,
         {},
         {{"intermediate_size", 24'576}}},
        {"opt",
         "opt",
         {"OPTForCausalLM"},
         "",
         read_opt,
         {},
         {{"ffn_dim", 3072}, {"max_position_embeddings", 2048}}},
        {"bert",
         "bert",
         {"BertModel", "BertForMaskedLM", "BertForPreTraining"},
         "the encoder and its pooler, without a task's head",
         read_bert,
         {},
         {{"intermediate_size", 3072}, {"max_position_embeddings", 512}}},
        {"vit", "vit", {"ViTForImageClassification"}, "", read_vit, {}, {{"intermediate_size", 3072}}},
        {"llava",
         "vlm",
         {"LlavaForConditionalGeneration"},
         "",
         read_llava,
         "the vision tower runs to its end, where vision_feature_layer takes an earlier layer's tokens"},
    };
    add_described(out);
    return out;
  }();
  return all;
}

}  // namespace penstock::frameworks
