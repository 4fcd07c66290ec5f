// Rows of the table of decoders whose layers mix tokens by scans or short convolutions. Defaults are those of the
// configuration classes of transformers 5.24.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "decoder_keys.hpp"
#include "decoder_row.hpp"
#include "decoder_rules.hpp"

namespace penstock::frameworks {
namespace {

using models::LayerWord;
using LayerWords = std::vector<LayerWord>;

void set_hybrid_mixers(DecoderKeys& keys, const LayerWords& words) {
  keys.set("mixers", models::written(words));
}

/// The word of a layer's type, of which transformers 4 has other names.
LayerWord hybrid_word(DecoderKeys& keys, const std::string& type, const char* attention, const char* scan) {
  if (type == "full_attention" || type == "attention") return {attention};
  if (type == "linear_attention" || type == "mamba") return {scan};
  keys.fail("layer_types",
            fmt::format("'{}' is not computed by the zoo's decoder; known: full_attention, linear_attention",
                        type));
}

/// Layers at `offset` of each period have the first word.
LayerWords periodic(DecoderKeys& keys, const char* period_key, const char* offset_key, const char* at,
                    const char* others) {
  const std::int64_t period = keys.needed(period_key), offset = keys.count(offset_key).value_or(0);
  if (offset >= period) keys.fail(offset_key, fmt::format("expected less than {}'s {}", period_key, period));
  LayerWords out;
  for (std::int64_t i = 0; i < keys.layers(); ++i) out.push_back({i % period == offset ? at : others});
  return out;
}

/// A number, or "auto" for the class's formula.
std::int64_t stated_or(DecoderKeys& keys, const char* key, std::int64_t formula) {
  return keys.value(key).value_or("auto") == "auto" ? formula : keys.needed(key);
}

/// Checks what the class checks: heads together are as wide as the expanded token, and share groups evenly.
void set_state_heads(DecoderKeys& keys, std::int64_t heads, std::int64_t width, const char* expand_key,
                     const char* groups_key) {
  const std::int64_t inner = keys.needed(expand_key) * keys.needed("hidden_size"),
                     groups = keys.needed(groups_key);
  if (heads * width != inner)
    keys.fail(expand_key, fmt::format("{} heads of {} are not {} wide", heads, width, inner));
  if (heads % groups != 0) keys.fail(groups_key, fmt::format("{} do not divide {} heads", groups, heads));
  keys.set("state_heads", heads);
  keys.set("state_head_width", width);
  keys.set("state_groups", groups);
}

void read_mamba(DecoderKeys& keys) {
  const std::int64_t hidden = keys.needed("hidden_size");
  keys.set("state_channels", keys.needed("expand") * hidden);
  keys.set("step_rank", stated_or(keys, "time_step_rank", (hidden + 15) / 16));
}

void read_mamba2(DecoderKeys& keys) {
  set_state_heads(keys, keys.needed("num_heads"), keys.needed("head_dim"), "expand", "n_groups");
}

void read_bamba_space(DecoderKeys& keys) {
  const std::int64_t heads = keys.needed("mamba_n_heads"),
                     inner = keys.needed("mamba_expand") * keys.needed("hidden_size");
  set_state_heads(keys, heads, stated_or(keys, "mamba_d_head", inner / heads), "mamba_expand",
                  "mamba_n_groups");
}

/// The layers of a list have attention.
void read_bamba_layers(DecoderKeys& keys) {
  LayerWords words(static_cast<std::size_t>(keys.layers()), {"state_space"});
  if (const auto list = keys.given("attn_layer_indices"))
    for (const core::Yaml& layer : list->items())
      words[static_cast<std::size_t>(layer.integer(0, keys.layers() - 1))] = {"full"};
  set_hybrid_mixers(keys, words);
}

void read_granite_layers(DecoderKeys& keys) {
  const auto position = keys.value("position_embedding_type");
  if (position && *position != "rope" && *position != "nope")
    keys.fail("position_embedding_type", "expected rope, nope or null");
  const auto stated = keys.layer_list("layer_types");
  LayerWords words;
  for (std::int64_t i = 0; i < keys.layers(); ++i)
    words.push_back(hybrid_word(keys, stated ? (*stated)[static_cast<std::size_t>(i)] : "linear_attention",
                                position == "rope" ? "full" : "nope", "state_space"));
  set_hybrid_mixers(keys, words);
}

/// Without experts the one that every token takes is the feed-forward.
void read_granite_experts(DecoderKeys& keys) {
  const bool routed = keys.count("num_local_experts").value_or(0) > 0;
  keys.set("feed_forwards", routed ? "experts" : "dense");
  if (routed) return read_same_experts(keys);
  keys.set("feed_forward", keys.needed("shared_intermediate_size"));
  keys.set("shared_width", "0");
  keys.set("chosen", "0");
}

void read_jamba(DecoderKeys& keys) {
  const std::int64_t hidden = keys.needed("hidden_size");
  keys.set("state_channels", keys.needed("mamba_expand") * hidden);
  keys.set("step_rank", stated_or(keys, "mamba_dt_rank", (hidden + 15) / 16));
  set_hybrid_mixers(keys, periodic(keys, "attn_layer_period", "attn_layer_offset", "nope", "selective"));
  const LayerWords feeds = periodic(keys, "expert_layer_period", "expert_layer_offset", "experts", "dense");
  if (keys.needed("num_experts") > 1) {
    keys.set("feed_forwards", models::written(feeds));
    return read_same_experts(keys);
  }
  keys.set("feed_forwards", "dense");
  keys.set("chosen", "0");
}

/// Types of Nemotron-H's layers: a list, a pattern of characters, or the class's four.
std::vector<std::string> nemotron_types(DecoderKeys& keys) {
  std::vector<std::string> out;
  const auto list = keys.given("layers_block_type");
  const auto pattern = keys.value("hybrid_override_pattern");
  if (list) {
    for (const core::Yaml& item : list->items()) out.push_back(item.text());
    return out;
  }
  for (const char mark : pattern.value_or("ME*-")) {
    const auto at = std::string_view("M*E-").find(mark);
    if (at == std::string_view::npos)
      keys.fail("hybrid_override_pattern", "expected M, *, E and - for each layer");
    out.emplace_back(std::array{"linear_attention", "full_attention", "moe", "mlp"}[at]);
  }
  return out;
}

void read_nemotron_layers(DecoderKeys& keys) {
  LayerWords mixers, feeds;
  for (const std::string& type : nemotron_types(keys)) {
    const bool feeds_alone = type == "moe" || type == "mlp";
    mixers.push_back(feeds_alone ? LayerWord{"none"} : hybrid_word(keys, type, "nope", "state_space"));
    feeds.push_back({type == "moe" ? "experts" : type == "mlp" ? "dense" : "none"});
  }
  const std::int64_t count = std::ssize(mixers);
  if (keys.count("num_hidden_layers").value_or(count) != count)
    keys.fail("num_hidden_layers", fmt::format("expected {}, the layers whose types are stated", count));
  keys.set("layers", count);
  set_hybrid_mixers(keys, mixers);
  keys.set("feed_forwards", models::written(feeds));
}

void read_nemotron_space(DecoderKeys& keys) {
  const std::int64_t heads = keys.needed("mamba_num_heads"), groups = keys.needed("n_groups");
  if (heads % groups != 0) keys.fail("n_groups", fmt::format("{} do not divide {} heads", groups, heads));
  keys.set("state_heads", heads);
  keys.set("state_groups", groups);
}

/// Attention is in the layers of a list of types, or of indices. The others have convolutions.
void read_lfm2_layers(DecoderKeys& keys) {
  LayerWords words(static_cast<std::size_t>(keys.layers()), {"convolution"});
  const auto types = keys.layer_list("layer_types");
  const auto indices = keys.given("full_attn_idxs");
  if (!types && !indices) std::ranges::fill(words, LayerWord{"full"});
  if (!types && indices)
    for (const core::Yaml& layer : indices->items())
      words[static_cast<std::size_t>(layer.integer(0, keys.layers() - 1))] = {"full"};
  for (std::size_t i = 0; types && i < words.size(); ++i) {
    if ((*types)[i] != "conv" && (*types)[i] != "full_attention")
      keys.fail("layer_types", fmt::format("'{}': expected conv or full_attention", (*types)[i]));
    if ((*types)[i] == "full_attention") words[i] = {"full"};
  }
  set_hybrid_mixers(keys, words);
}

/// Two thirds of the stated width, times a factor, up to a multiple.
void read_lfm2_width(DecoderKeys& keys) {
  const std::int64_t stated = keys.needed("intermediate_size"), multiple = keys.needed("block_multiple_of");
  const auto given = keys.given("block_ffn_dim_multiplier");
  const auto factor = keys.value("block_ffn_dim_multiplier");
  if (!keys.flag("block_auto_adjust_ff_dim")) return;
  std::int64_t width = 2 * stated / 3;
  if (factor) {
    const double times = given ? given->number() : 1;
    if (times <= 0 || times > 100) keys.fail("block_ffn_dim_multiplier", "expected a number up to 100");
    width = static_cast<std::int64_t>(times * static_cast<double>(width));
    width = (width + multiple - 1) / multiple * multiple;
  }
  keys.set("feed_forward", width);
}

/// Layers with a delta net have norms before their branches, those with attention behind.
void read_olmo_hybrid_layers(DecoderKeys& keys) {
  const auto stated = keys.layer_list("layer_types");
  LayerWords mixers, norms;
  for (std::int64_t i = 0; i < keys.layers(); ++i) {
    const bool last = i % 4 == 3 || (keys.layers() < 4 && i + 1 == keys.layers());
    const std::string type = stated ? (*stated)[static_cast<std::size_t>(i)]
                             : last ? "full_attention"
                                    : "linear_attention";
    mixers.push_back(hybrid_word(keys, type, "full", "delta"));
    norms.push_back({mixers.back().word == "delta" ? "before" : "after"});
  }
  set_hybrid_mixers(keys, mixers);
  keys.set("norms", models::written(norms));
}

void read_olmo_delta(DecoderKeys& keys) {
  const std::int64_t attention = keys.needed("num_attention_heads"),
                     groups = keys.count("linear_num_key_heads").value_or(attention),
                     heads = keys.count("linear_num_value_heads").value_or(attention);
  if (groups < 1 || heads % groups != 0)
    keys.fail("linear_num_key_heads", fmt::format("{} do not divide {} heads of values", groups, heads));
  const std::int64_t key =
      keys.count("linear_key_head_dim").value_or(3 * keys.needed("hidden_size") / (4 * groups));
  keys.set("state_heads", heads);
  keys.set("state_groups", groups);
  keys.set("state_width", key);
  keys.set("state_head_width", keys.count("linear_value_head_dim").value_or(2 * key));
}

constexpr std::string_view kMambaPassed =
    "intermediate_size residual_in_fp32 time_step_scale time_step_min time_step_max time_step_init_scheme "
    "time_step_floor rescale_prenorm_residual use_mambapy use_associative_scan d_inner d_model n_layer "
    "fused_add_norm pad_vocab_size_multiple rms_norm ssm_cfg";

constexpr std::string_view kFalconMambaPassed =
    "intermediate_size residual_in_fp32 time_step_scale time_step_min time_step_max time_step_init_scheme "
    "time_step_floor rescale_prenorm_residual use_falcon_mambapy use_mambapy use_associative_scan mixer_rms_eps";

/// Layers of nothing but a scan.
std::vector<DecoderRow> scan_rows() {
  return {
      {"mamba",
       "MambaForCausalLM",
       "vocab_size=50280 hidden_size=768 state_size=16 num_hidden_layers=32 layer_norm_epsilon=1e-05 "
       "expand=2 conv_kernel=4 use_bias=false use_conv_bias=true hidden_act=silu time_step_rank=auto "
       "initializer_range=0.1 tie_word_embeddings=true",
       "mixers=selective feed_forwards=none convolution_bias=no",
       "state_size>state_width conv_kernel>convolution_tokens use_bias?mixer_bias=yes "
       "use_conv_bias?convolution_bias=yes",
       "hidden_act=silu",
       kMambaPassed,
       "",
       {read_mamba}},
      {"falcon_mamba",
       "FalconMambaForCausalLM",
       "vocab_size=50280 hidden_size=768 state_size=16 num_hidden_layers=32 layer_norm_epsilon=1e-05 "
       "expand=2 conv_kernel=4 use_bias=false use_conv_bias=true hidden_act=silu time_step_rank=auto "
       "initializer_range=0.1 tie_word_embeddings=true",
       "mixers=selective feed_forwards=none step_norms=plain convolution_bias=no",
       "state_size>state_width conv_kernel>convolution_tokens use_bias?mixer_bias=yes "
       "use_conv_bias?convolution_bias=yes",
       "hidden_act=silu",
       kFalconMambaPassed,
       "",
       {read_mamba}},
      {"mamba2",
       "Mamba2ForCausalLM",
       "vocab_size=32768 hidden_size=4096 num_heads=128 head_dim=64 state_size=128 num_hidden_layers=64 "
       "layer_norm_epsilon=1e-05 expand=2 conv_kernel=4 n_groups=8 use_bias=false use_conv_bias=true "
       "hidden_act=silu initializer_range=0.1 chunk_size=256 tie_word_embeddings=false",
       "mixers=state_space feed_forwards=none convolution_bias=no",
       "state_size>state_width conv_kernel>convolution_tokens chunk_size>scan_chunk use_bias?mixer_bias=yes "
       "use_conv_bias?convolution_bias=yes",
       "hidden_act=silu",
       "residual_in_fp32 time_step_rank time_step_min time_step_max time_step_floor time_step_limit "
       "rescale_prenorm_residual norm_before_gate rms_norm",
       "",
       {read_mamba2}},
  };
}

constexpr std::string_view kBambaFields =
    "mamba_d_state>state_width mamba_d_conv>convolution_tokens mamba_chunk_size>scan_chunk "
    "mamba_proj_bias?mixer_bias=yes mamba_conv_bias?convolution_bias=yes attention_bias?attention_bias=yes "
    "mlp_bias?feed_forward_bias=yes";

/// Attention in some layers.
std::vector<DecoderRow> mixed_rows() {
  return {
      {"bamba",
       "BambaForCausalLM",
       "vocab_size=128000 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
       "num_attention_heads=32 num_key_value_heads=8 hidden_act=silu max_position_embeddings=262144 "
       "rms_norm_eps=1e-05 tie_word_embeddings=false mamba_n_heads=128 mamba_d_head=auto mamba_n_groups=1 "
       "mamba_d_state=256 mamba_d_conv=4 mamba_expand=2 mamba_chunk_size=256 mamba_conv_bias=true",
       "convolution_bias=no",
       kBambaFields,
       "hidden_act=silu",
       "num_logits_to_keep time_step_limit z_loss_coefficient",
       "",
       {read_bamba_layers, read_bamba_space}},
      {"granitemoehybrid",
       "GraniteMoeHybridForCausalLM",
       "vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=silu max_position_embeddings=2048 rms_norm_eps=1e-06 "
       "tie_word_embeddings=false num_local_experts=8 num_experts_per_tok=2 shared_intermediate_size=1024 "
       "mamba_n_heads=128 mamba_d_head=auto mamba_n_groups=1 mamba_d_state=256 mamba_d_conv=4 mamba_expand=2 "
       "mamba_chunk_size=256 mamba_conv_bias=true",
       "convolution_bias=no",
       "num_local_experts>experts num_experts_per_tok>chosen shared_intermediate_size>shared_width "
       "mamba_d_state>state_width mamba_d_conv>convolution_tokens mamba_chunk_size>scan_chunk "
       "mamba_proj_bias?mixer_bias=yes mamba_conv_bias?convolution_bias=yes "
       "attention_bias?attention_bias=yes",
       "hidden_act=silu",
       "embedding_multiplier logits_scaling residual_multiplier attention_multiplier time_step_limit",
       "layer_types=layers_block_type",
       {read_granite_layers, read_bamba_space, read_granite_experts}},
      {"jamba",
       "JambaForCausalLM",
       "vocab_size=65536 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
       "num_attention_heads=32 num_key_value_heads=8 hidden_act=silu max_position_embeddings=262144 "
       "rms_norm_eps=1e-06 tie_word_embeddings=false num_experts=16 num_experts_per_tok=2 "
       "expert_layer_period=2 expert_layer_offset=1 attn_layer_period=8 attn_layer_offset=4 mamba_d_state=16 "
       "mamba_d_conv=4 mamba_expand=2 mamba_dt_rank=auto mamba_conv_bias=true",
       "step_norms=yes convolution_bias=no",
       "num_experts>experts num_experts_per_tok>chosen mamba_d_state>state_width "
       "mamba_d_conv>convolution_tokens mamba_proj_bias?mixer_bias=yes "
       "mamba_conv_bias?convolution_bias=yes",
       "hidden_act=silu",
       "use_mamba_kernels use_mambapy use_associative_scan num_logits_to_keep",
       "num_experts=num_local_experts",
       {read_jamba}},
      {"nemotron_h",
       "NemotronHForCausalLM",
       "vocab_size=131072 hidden_size=4096 intermediate_size=21504 "
       "num_attention_heads=32 num_key_value_heads=8 head_dim=128 hidden_act=relu2 "
       "max_position_embeddings=4096 layer_norm_epsilon=1e-05 tie_word_embeddings=false ssm_state_size=128 "
       "mamba_num_heads=128 mamba_head_dim=64 mamba_hidden_act=silu n_groups=8 conv_kernel=4 "
       "use_conv_bias=true chunk_size=128 n_routed_experts=8 moe_intermediate_size=7688 "
       "moe_shared_expert_intermediate_size=7688 num_experts_per_tok=2 norm_topk_prob=true",
       "gated=no scores=sigmoid convolution_bias=no",
       "n_routed_experts>experts num_experts_per_tok>chosen moe_intermediate_size>expert_width "
       "moe_shared_expert_intermediate_size>shared_width mlp_bias?feed_forward_bias=yes "
       "ssm_state_size>state_width mamba_head_dim>state_head_width conv_kernel>convolution_tokens "
       "chunk_size>scan_chunk use_bias?mixer_bias=yes use_conv_bias?convolution_bias=yes",
       "attention_bias=false sliding_window=null mamba_hidden_act=silu moe_latent_size=null "
       "mamba_proj_bias=false num_nextn_predict_layers=0",
       "num_logits_to_keep use_mamba_kernels expand time_step_min time_step_max time_step_limit "
       "time_step_floor mamba_ssm_cache_dtype n_shared_experts moe_shared_expert_overlap "
       "mtp_layers_block_type residual_in_fp32 rescale_prenorm_residual",
       "hidden_act=mlp_hidden_act layers_block_type=layer_types n_routed_experts=num_local_experts "
       "n_groups=mamba_n_groups conv_kernel=mamba_d_conv expand=mamba_expand time_step_min=mamba_dt_min "
       "time_step_max=mamba_dt_max time_step_limit=mamba_dt_limit time_step_floor=mamba_dt_init_floor "
       "use_conv_bias=mamba_conv_bias chunk_size=mamba_chunk_size",
       {read_nemotron_layers, read_nemotron_space}},
      {"lfm2",
       "Lfm2ForCausalLM",
       "vocab_size=65536 hidden_size=2560 intermediate_size=12288 num_hidden_layers=32 "
       "num_attention_heads=32 num_key_value_heads=8 max_position_embeddings=128000 norm_eps=1e-05 "
       "rope_theta=1000000 tie_word_embeddings=true conv_bias=false conv_L_cache=3 block_multiple_of=256 "
       "block_ffn_dim_multiplier=1.0 block_auto_adjust_ff_dim=true",
       "qk_norm=head activation=silu",
       "conv_L_cache>convolution_tokens conv_bias?mixer_bias=yes",
       "",
       "block_dim block_mlp_init_scale block_norm_eps block_out_init_scale block_use_swiglu "
       "block_use_xavier_init conv_dim conv_dim_out conv_use_xavier_init num_heads use_pos_enc",
       "tie_word_embeddings=tie_embedding intermediate_size=block_ff_dim",
       {read_lfm2_layers, read_lfm2_width}},
      {"olmo_hybrid",
       "OlmoHybridForCausalLM",
       "vocab_size=100352 hidden_size=3840 intermediate_size=11008 num_hidden_layers=32 "
       "num_attention_heads=30 hidden_act=silu max_position_embeddings=65536 rms_norm_eps=1e-06 "
       "tie_word_embeddings=false linear_conv_kernel_dim=4",
       "qk_norm=whole",
       "attention_bias?attention_bias=yes linear_conv_kernel_dim>convolution_tokens",
       "",
       "linear_a_log_min linear_a_log_max linear_dt_min linear_dt_max linear_dt_init_floor "
       "linear_allow_neg_eigval",
       "",
       {read_olmo_hybrid_layers, read_olmo_delta}},
  };
}

}  // namespace

std::vector<DecoderRow> hybrid_rows() {
  std::vector<DecoderRow> out = scan_rows();
  const std::vector<DecoderRow> mixed = mixed_rows();
  out.insert(out.end(), mixed.begin(), mixed.end());
  return out;
}

}  // namespace penstock::frameworks
