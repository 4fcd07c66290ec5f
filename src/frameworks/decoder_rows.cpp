// The table of decoders. Defaults of keys left out are those of the configuration classes of transformers 5.24.

#include "decoder_row.hpp"
#include "decoder_rules.hpp"

namespace penstock::frameworks {
namespace {

void windows_sf(DecoderKeys& keys) {
  read_windows(keys, "sf", "", "full");
}
void windows_sssf(DecoderKeys& keys) {
  read_windows(keys, "sssf", "", "full");
}
void windows_fsss(DecoderKeys& keys) {
  read_windows(keys, "fsss", "", "full");
}
void windows_all(DecoderKeys& keys) {
  read_windows(keys, "s", "", "full");
}
void windows_none(DecoderKeys& keys) {
  read_windows(keys, "f", "", "full");
}
void windows_kolibri(DecoderKeys& keys) {
  read_windows(keys, "ssssf", "", "full");
}
void windows_gemma3(DecoderKeys& keys) {
  read_windows(keys, "sssssf", "sliding_window_pattern", "full");
}
void windows_cohere(DecoderKeys& keys) {
  read_windows(keys, "sssf", "sliding_window_pattern", "nope");
}

constexpr std::string_view kBias = "attention_bias?attention_bias=yes",
                           kBothBiases = "attention_bias?attention_bias=yes mlp_bias?feed_forward_bias=yes",
                           kGranite =
                               "embedding_multiplier logits_scaling residual_multiplier attention_multiplier";

std::vector<DecoderRow> llama_rows() {
  return {
      {"exaone", "LlamaForCausalLM",
       "vocab_size=102400 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
       "num_attention_heads=32 num_key_value_heads=8 hidden_act=silu max_position_embeddings=4096 "
       "rms_norm_eps=1e-05 rope_theta=500000 tie_word_embeddings=false head_dim=null",
       "", kBothBiases, "", "",
       "num_hidden_layers=num_layers rms_norm_eps=layer_norm_epsilon hidden_act=activation_function"},
      {"internlm3", "LlamaForCausalLM",
       "vocab_size=128512 hidden_size=4096 intermediate_size=10240 num_hidden_layers=48 "
       "num_attention_heads=32 num_key_value_heads=2 hidden_act=silu max_position_embeddings=32768 "
       "rms_norm_eps=1e-05 tie_word_embeddings=false head_dim=128",
       "", kBothBiases, "", "", "attention_bias=qkv_bias mlp_bias=bias"},
      {"iquestcoder", "LlamaForCausalLM",
       "vocab_size=76800 hidden_size=5120 intermediate_size=27648 num_hidden_layers=80 "
       "num_attention_heads=40 num_key_value_heads=8 hidden_act=silu max_position_embeddings=131072 "
       "rms_norm_eps=1e-05 tie_word_embeddings=false head_dim=128",
       "", kBothBiases},
      {"apertus", "ApertusForCausalLM",
       "vocab_size=131072 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=xielu max_position_embeddings=65536 rms_norm_eps=1e-05 "
       "rope_theta=12000000 tie_word_embeddings=false",
       "gated=no qk_norm=head", kBias},
      {"apertus1p5_text", "Apertus1p5TextForCausalLM",
       "vocab_size=266752 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=xielu max_position_embeddings=65536 rms_norm_eps=1e-05 "
       "rope_theta=12000000 tie_word_embeddings=false",
       "gated=no qk_norm=head", kBias, "output_vocab_size=null"},
      {"arcee", "ArceeForCausalLM",
       "vocab_size=32000 hidden_size=2560 intermediate_size=18432 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=relu2 max_position_embeddings=4096 rms_norm_eps=1e-05 "
       "tie_word_embeddings=false head_dim=null",
       "gated=no", kBothBiases},
      {"cwm",
       "CwmForCausalLM",
       "vocab_size=128256 hidden_size=6144 intermediate_size=21504 num_hidden_layers=64 "
       "num_attention_heads=48 num_key_value_heads=8 hidden_act=silu max_position_embeddings=131072 "
       "rms_norm_eps=1e-05 rope_theta=1000000 tie_word_embeddings=false head_dim=128 "
       "sliding_window=8192",
       "",
       "mlp_bias?feed_forward_bias=yes",
       "",
       "",
       "",
       {windows_fsss}},
      {"ernie4_5", "Ernie4_5ForCausalLM",
       "vocab_size=103424 hidden_size=1024 intermediate_size=3072 num_hidden_layers=18 "
       "num_attention_heads=16 num_key_value_heads=2 hidden_act=silu max_position_embeddings=131072 "
       "rms_norm_eps=1e-05 rope_theta=500000 tie_word_embeddings=true head_dim=128",
       "", "use_bias?attention_bias=yes use_bias?feed_forward_bias=yes"},
      {"granite", "GraniteForCausalLM",
       "vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=silu max_position_embeddings=2048 rms_norm_eps=1e-06 "
       "tie_word_embeddings=false",
       "", kBothBiases, "", kGranite},
      {"granite_swa",
       "GraniteSWAForCausalLM",
       "vocab_size=100352 hidden_size=2560 intermediate_size=8192 num_hidden_layers=24 "
       "num_attention_heads=20 num_key_value_heads=4 hidden_act=silu max_position_embeddings=8192 "
       "rms_norm_eps=1e-05 tie_word_embeddings=true sliding_window=128",
       "sinks=yes",
       kBothBiases,
       "",
       "embedding_multiplier logits_scaling residual_multiplier attention_multiplier layer_rope_theta",
       "",
       {windows_fsss}},
      {"helium",
       "HeliumForCausalLM",
       "vocab_size=48000 hidden_size=2560 intermediate_size=7040 num_hidden_layers=24 "
       "num_attention_heads=20 num_key_value_heads=20 head_dim=128 hidden_act=silu "
       "max_position_embeddings=4096 rms_norm_eps=1e-08 rope_theta=100000 tie_word_embeddings=false",
       "",
       "attention_bias?attention_bias=qkv mlp_bias?feed_forward_bias=yes",
       "",
       "",
       "",
       {read_own_head}},
      {"hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM",
       "vocab_size=290943 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=silu max_position_embeddings=2048 rms_norm_eps=1e-05 "
       "tie_word_embeddings=false head_dim=null",
       "qk_norm=head", kBias, "", "eod_token_id"},
      {"hyperclovax", "HyperCLOVAXForCausalLM",
       "vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=silu max_position_embeddings=2048 rms_norm_eps=1e-06 "
       "tie_word_embeddings=false head_dim=null use_post_norm=true",
       "", "attention_bias?attention_bias=yes mlp_bias?feed_forward_bias=yes use_post_norm?norms=both", "",
       kGranite},
      {"jais2", "Jais2ForCausalLM",
       "vocab_size=150272 hidden_size=3328 intermediate_size=26624 num_hidden_layers=32 "
       "num_attention_heads=26 hidden_act=relu2 max_position_embeddings=8192 layer_norm_eps=1e-05 "
       "tie_word_embeddings=false head_dim=null attention_bias=true mlp_bias=true",
       "norm=layer gated=no", kBothBiases},
      {"ministral",
       "MinistralForCausalLM",
       "vocab_size=32000 hidden_size=4096 intermediate_size=14336 num_hidden_layers=32 "
       "num_attention_heads=32 num_key_value_heads=8 head_dim=null hidden_act=silu "
       "max_position_embeddings=131072 rms_norm_eps=1e-06 tie_word_embeddings=false "
       "sliding_window=4096",
       "",
       "",
       "",
       "",
       "",
       {windows_all}},
      {"ministral3",
       "Ministral3ForCausalLM",
       "vocab_size=131072 hidden_size=4096 intermediate_size=14336 num_hidden_layers=34 "
       "num_attention_heads=32 num_key_value_heads=8 head_dim=128 hidden_act=silu "
       "max_position_embeddings=262144 rms_norm_eps=1e-05 rope_theta=1000000 "
       "tie_word_embeddings=false sliding_window=null",
       "",
       "",
       "",
       "",
       "",
       {windows_all}},
      {"nemotron", "NemotronForCausalLM",
       "vocab_size=256000 hidden_size=6144 intermediate_size=24576 num_hidden_layers=32 "
       "num_attention_heads=48 head_dim=null hidden_act=relu2 max_position_embeddings=4096 "
       "norm_eps=1e-05 tie_word_embeddings=false",
       "norm=layer gated=no", kBothBiases},
      {"phi3",
       "Phi3ForCausalLM",
       "vocab_size=32064 hidden_size=3072 intermediate_size=8192 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=silu max_position_embeddings=4096 rms_norm_eps=1e-05 "
       "tie_word_embeddings=false sliding_window=null",
       "",
       "",
       "",
       "original_max_position_embeddings",
       "",
       {windows_all}},
      {"seed_oss",
       "SeedOssForCausalLM",
       "vocab_size=155136 hidden_size=4096 intermediate_size=27648 num_hidden_layers=64 "
       "num_attention_heads=80 num_key_value_heads=8 hidden_act=silu max_position_embeddings=524288 "
       "rms_norm_eps=1e-06 tie_word_embeddings=false attention_bias=true attention_out_bias=false "
       "head_dim=128",
       "",
       "mlp_bias?feed_forward_bias=yes",
       "",
       "residual_dropout",
       "",
       {read_seed_bias}},
      {"smollm3",
       "SmolLM3ForCausalLM",
       "vocab_size=128256 hidden_size=2048 intermediate_size=11008 num_hidden_layers=36 "
       "num_attention_heads=16 num_key_value_heads=4 hidden_act=silu max_position_embeddings=32768 "
       "rms_norm_eps=1e-06 rope_theta=2000000 tie_word_embeddings=true no_rope_layer_interval=4",
       "",
       kBothBiases,
       "",
       "",
       "",
       {read_smollm_layers}},
      {"stablelm",
       "StableLmForCausalLM",
       "vocab_size=50304 hidden_size=2560 intermediate_size=6912 num_hidden_layers=32 "
       "num_attention_heads=32 num_key_value_heads=32 hidden_act=silu max_position_embeddings=4096 "
       "layer_norm_eps=1e-05 tie_word_embeddings=false",
       "norm=layer",
       "use_qkv_bias?attention_bias=qkv qk_layernorm?qk_norm=whole "
       "use_parallel_residual?branches=shared_norm",
       "",
       "",
       "",
       {read_own_head}},
      {"starcoder2",
       "Starcoder2ForCausalLM",
       "vocab_size=49152 hidden_size=3072 intermediate_size=12288 num_hidden_layers=30 "
       "num_attention_heads=24 num_key_value_heads=2 hidden_act=gelu_pytorch_tanh "
       "max_position_embeddings=4096 norm_epsilon=1e-05 tie_word_embeddings=true use_bias=true "
       "sliding_window=null",
       "norm=layer gated=no",
       "use_bias?attention_bias=yes use_bias?feed_forward_bias=yes",
       "",
       "residual_dropout embedding_dropout",
       "",
       {windows_all}},
  };
}

/// Norms elsewhere than before each branch, or of another kind.
std::vector<DecoderRow> norm_rows() {
  return {
      {"cohere", "CohereForCausalLM",
       "vocab_size=256000 hidden_size=8192 intermediate_size=22528 num_hidden_layers=40 "
       "num_attention_heads=64 hidden_act=silu max_position_embeddings=8192 layer_norm_eps=1e-05 "
       "rope_theta=500000 tie_word_embeddings=true",
       "norm=layer_unbiased branches=shared_norm",
       "attention_bias?attention_bias=yes use_qk_norm?qk_norm=whole", "", "logit_scale"},
      {"cohere2",
       "Cohere2ForCausalLM",
       "vocab_size=256000 hidden_size=8192 intermediate_size=22528 num_hidden_layers=40 "
       "num_attention_heads=64 hidden_act=silu max_position_embeddings=8192 layer_norm_eps=1e-05 "
       "tie_word_embeddings=true sliding_window=4096",
       "norm=layer_unbiased branches=shared_norm",
       kBias,
       "",
       "logit_scale",
       "",
       {windows_cohere, read_own_head}},
      {"exaone4",
       "Exaone4ForCausalLM",
       "vocab_size=102400 hidden_size=4096 intermediate_size=16384 num_hidden_layers=32 "
       "num_attention_heads=32 num_key_value_heads=32 hidden_act=silu max_position_embeddings=2048 "
       "rms_norm_eps=1e-05 tie_word_embeddings=false sliding_window=4096 sliding_window_pattern=4",
       "norms=after qk_norm=head",
       "",
       "",
       "",
       "",
       {read_whole_nope}},
      {"gemma", "GemmaForCausalLM",
       "vocab_size=256000 hidden_size=3072 intermediate_size=24576 num_hidden_layers=28 "
       "num_attention_heads=16 num_key_value_heads=16 head_dim=256 hidden_act=gelu_pytorch_tanh "
       "max_position_embeddings=8192 rms_norm_eps=1e-06 tie_word_embeddings=true",
       "", kBias, "use_bidirectional_attention=false"},
      {"gemma2",
       "Gemma2ForCausalLM",
       "vocab_size=256000 hidden_size=2304 intermediate_size=9216 num_hidden_layers=26 "
       "num_attention_heads=8 num_key_value_heads=4 head_dim=256 hidden_activation=gelu_pytorch_tanh "
       "max_position_embeddings=8192 rms_norm_eps=1e-06 tie_word_embeddings=true sliding_window=4096",
       "norms=both",
       kBias,
       "use_bidirectional_attention=false",
       "hidden_act",
       "",
       {windows_sf}},
      {"gemma3_text",
       "Gemma3ForCausalLM",
       "vocab_size=262208 hidden_size=2304 intermediate_size=9216 num_hidden_layers=26 "
       "num_attention_heads=8 num_key_value_heads=4 head_dim=256 hidden_activation=gelu_pytorch_tanh "
       "max_position_embeddings=131072 rms_norm_eps=1e-06 rope_theta=1000000 "
       "tie_word_embeddings=true sliding_window=4096",
       "norms=both qk_norm=head",
       kBias,
       "use_bidirectional_attention=false",
       "hidden_act _sliding_window_pattern",
       "",
       {windows_gemma3}},
      {"glm", "GlmForCausalLM",
       "vocab_size=151552 hidden_size=4096 intermediate_size=13696 num_hidden_layers=40 "
       "num_attention_heads=32 num_key_value_heads=2 head_dim=128 hidden_act=silu "
       "max_position_embeddings=131072 rms_norm_eps=1.5625e-07 tie_word_embeddings=false "
       "attention_bias=true",
       "", "attention_bias?attention_bias=qkv"},
      {"glm4", "Glm4ForCausalLM",
       "vocab_size=151552 hidden_size=4096 intermediate_size=13696 num_hidden_layers=40 "
       "num_attention_heads=32 num_key_value_heads=2 head_dim=128 hidden_act=silu "
       "max_position_embeddings=131072 rms_norm_eps=1.5625e-07 tie_word_embeddings=false "
       "attention_bias=true",
       "norms=both", "attention_bias?attention_bias=qkv"},
      {"nanochat", "NanoChatForCausalLM",
       "vocab_size=50304 hidden_size=768 intermediate_size=8192 num_hidden_layers=12 num_attention_heads=6 "
       "hidden_act=relu2 max_position_embeddings=2048 rms_norm_eps=1e-06 tie_word_embeddings=false",
       "norm=rms_plain qk_norm=plain gated=no embedding_norm=yes", kBias},
      {"olmo", "OlmoForCausalLM",
       "vocab_size=50304 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=silu max_position_embeddings=2048 tie_word_embeddings=false",
       "norm=layer_plain", kBias, "clip_qkv=null"},
      {"olmo2", "Olmo2ForCausalLM",
       "vocab_size=50304 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=silu max_position_embeddings=2048 rms_norm_eps=1e-05 "
       "tie_word_embeddings=false",
       "norms=after qk_norm=whole", kBias},
      {"olmo3",
       "Olmo3ForCausalLM",
       "vocab_size=50304 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=silu max_position_embeddings=2048 rms_norm_eps=1e-05 "
       "rope_theta=500000 tie_word_embeddings=false sliding_window=4096",
       "norms=after qk_norm=whole",
       kBias,
       "",
       "",
       "",
       {windows_sssf}},
      {"vaultgemma",
       "VaultGemmaForCausalLM",
       "vocab_size=256000 hidden_size=2304 intermediate_size=9216 num_hidden_layers=26 "
       "num_attention_heads=8 num_key_value_heads=4 head_dim=256 hidden_activation=gelu_pytorch_tanh "
       "max_position_embeddings=8192 rms_norm_eps=1e-06 tie_word_embeddings=true sliding_window=4096",
       "",
       kBias,
       "",
       "hidden_act",
       "",
       {windows_sf}},
  };
}

/// Decoders from before Llama: layer norms, biases, learned or no positions.
std::vector<DecoderRow> older_rows() {
  return {
      {"biogpt",
       "BioGptForCausalLM",
       "vocab_size=42384 hidden_size=1024 intermediate_size=4096 num_hidden_layers=24 "
       "num_attention_heads=16 hidden_act=gelu max_position_embeddings=1024 layer_norm_eps=1e-12 "
       "tie_word_embeddings=true",
       "norm=layer gated=no attention_bias=yes feed_forward_bias=yes mixers=nope",
       "",
       "",
       "scale_embedding",
       "",
       {read_own_head, read_biogpt_positions}},
      {"bloom",
       "BloomForCausalLM",
       "vocab_size=250880 hidden_size=64 num_hidden_layers=2 num_attention_heads=8 "
       "layer_norm_epsilon=1e-05 tie_word_embeddings=true",
       "norm=layer gated=no activation=gelu attention_bias=yes feed_forward_bias=yes mixers=nope "
       "embedding_norm=yes",
       "",
       "",
       "apply_residual_connection_post_layernorm slow_but_exact seq_length",
       "num_hidden_layers=n_layer num_attention_heads=n_head hidden_size=n_embed",
       {read_own_head, read_four_times}},
      {"codegen",
       "CodeGenForCausalLM",
       "vocab_size=50400 hidden_size=4096 num_hidden_layers=28 num_attention_heads=16 "
       "activation_function=gelu_new max_position_embeddings=2048 n_inner=null layer_norm_epsilon=1e-05 "
       "tie_word_embeddings=false",
       "norm=layer gated=no branches=shared_norm feed_forward_bias=yes head_bias=yes",
       "",
       "",
       "n_ctx rotary_dim summary_type summary_use_proj summary_activation summary_first_dropout "
       "summary_proj_to_labels scale_attn_weights",
       "hidden_size=n_embd num_hidden_layers=n_layer num_attention_heads=n_head "
       "max_position_embeddings=n_positions",
       {read_own_head, read_four_times}},
      {"falcon",
       "FalconForCausalLM",
       "vocab_size=65024 hidden_size=4544 num_hidden_layers=32 num_attention_heads=71 "
       "num_ln_in_parallel_attn=null layer_norm_epsilon=1e-05 num_kv_heads=null alibi=false "
       "new_decoder_architecture=false multi_query=true parallel_attn=true bias=false "
       "max_position_embeddings=2048 ffn_hidden_size=null activation=gelu tie_word_embeddings=true",
       "norm=layer gated=no",
       "",
       "",
       "",
       "hidden_size=n_embed",
       {read_own_head, read_four_times, read_falcon}},
      {"gpt_bigcode",
       "GPTBigCodeForCausalLM",
       "vocab_size=50257 hidden_size=768 num_hidden_layers=12 num_attention_heads=12 "
       "activation_function=gelu_pytorch_tanh max_position_embeddings=1024 n_inner=null "
       "layer_norm_epsilon=1e-05 multi_query=true tie_word_embeddings=true",
       "norm=layer gated=no attention_bias=yes feed_forward_bias=yes mixers=nope",
       "",
       "add_cross_attention=false",
       "scale_attn_weights attention_softmax_in_fp32 scale_attention_softmax_in_fp32 num_key_value_heads "
       "summary_type summary_use_proj summary_activation summary_first_dropout summary_proj_to_labels",
       "hidden_size=n_embd num_hidden_layers=n_layer num_attention_heads=n_head "
       "max_position_embeddings=n_positions",
       {read_own_head, read_four_times, read_learned_positions, read_multi_query}},
      {"gpt_neo",
       "GPTNeoForCausalLM",
       "vocab_size=50257 hidden_size=2048 num_hidden_layers=24 num_attention_heads=16 "
       "window_size=256 activation_function=gelu_new max_position_embeddings=2048 "
       "intermediate_size=null layer_norm_epsilon=1e-05 tie_word_embeddings=true",
       "norm=layer gated=no attention_bias=output feed_forward_bias=yes",
       "",
       "",
       "resid_dropout embed_dropout classifier_dropout summary_type summary_use_proj summary_activation "
       "summary_first_dropout summary_proj_to_labels",
       "num_hidden_layers=num_layers num_attention_heads=num_heads",
       {read_own_head, read_four_times, read_learned_positions, read_neo_layers}},
      {"gptj",
       "GPTJForCausalLM",
       "vocab_size=50400 hidden_size=4096 num_hidden_layers=28 num_attention_heads=16 "
       "activation_function=gelu_new max_position_embeddings=2048 n_inner=null layer_norm_epsilon=1e-05 "
       "tie_word_embeddings=false",
       "norm=layer gated=no branches=shared_norm feed_forward_bias=yes head_bias=yes",
       "",
       "",
       "rotary_dim rotary scale_attn_weights summary_type summary_use_proj summary_activation "
       "summary_first_dropout summary_proj_to_labels",
       "hidden_size=n_embd num_hidden_layers=n_layer num_attention_heads=n_head "
       "max_position_embeddings=n_positions",
       {read_own_head, read_four_times}},
      {"mpt",
       "MptForCausalLM",
       "vocab_size=50368 hidden_size=2048 num_hidden_layers=24 num_attention_heads=16 expansion_ratio=4 "
       "max_position_embeddings=2048 layer_norm_epsilon=1e-05 tie_word_embeddings=true",
       "norm=layer_unbiased gated=no activation=gelu mixers=nope",
       "",
       "",
       "learned_pos_emb init_device logit_scale no_bias embedding_fraction norm_type emb_pdrop "
       "init_config verbose embedding_pdrop",
       "hidden_size=d_model num_hidden_layers=n_layers num_attention_heads=n_heads "
       "max_position_embeddings=max_seq_len",
       {read_own_head, read_mpt}},
      {"openai-gpt",
       "OpenAIGPTLMHeadModel",
       "vocab_size=40478 hidden_size=768 num_hidden_layers=12 num_attention_heads=12 afn=gelu "
       "max_position_embeddings=512 layer_norm_epsilon=1e-05 tie_word_embeddings=true",
       "norm=layer norms=sum final_norm=no gated=no attention_bias=yes feed_forward_bias=yes mixers=nope",
       "",
       "",
       "n_ctx predict_special_tokens summary_type summary_use_proj summary_activation "
       "summary_first_dropout summary_proj_to_labels",
       "hidden_size=n_embd num_hidden_layers=n_layer num_attention_heads=n_head "
       "max_position_embeddings=n_positions",
       {read_own_head, read_four_times, read_learned_positions}},
      {"persimmon",
       "PersimmonForCausalLM",
       "vocab_size=262144 hidden_size=4096 intermediate_size=16384 num_hidden_layers=36 "
       "num_attention_heads=64 hidden_act=relu2 max_position_embeddings=16384 layer_norm_eps=1e-05 "
       "tie_word_embeddings=false qk_layernorm=true",
       "norm=layer gated=no attention_bias=yes feed_forward_bias=yes",
       "qk_layernorm?qk_norm=layer",
       "",
       "",
       "",
       {read_own_head}},
      {"phi",
       "PhiForCausalLM",
       "vocab_size=51200 hidden_size=2048 intermediate_size=8192 num_hidden_layers=24 "
       "num_attention_heads=32 hidden_act=gelu_new max_position_embeddings=2048 layer_norm_eps=1e-05 "
       "tie_word_embeddings=false",
       "norm=layer gated=no branches=shared_norm attention_bias=yes feed_forward_bias=yes head_bias=yes",
       "qk_layernorm?qk_norm=layer",
       "",
       "",
       "",
       {read_own_head}},
      {"xglm",
       "XGLMForCausalLM",
       "vocab_size=256008 hidden_size=1024 num_hidden_layers=24 num_attention_heads=16 ffn_dim=4096 "
       "activation_function=gelu max_position_embeddings=2048 tie_word_embeddings=true",
       "norm=layer gated=no attention_bias=yes feed_forward_bias=yes mixers=nope",
       "ffn_dim>feed_forward",
       "add_cross_attention=false",
       "scale_embedding",
       "hidden_size=d_model num_hidden_layers=num_layers num_attention_heads=attention_heads",
       {read_own_head}},
  };
}

constexpr std::string_view
    kMixtralNames = "num_local_experts>experts num_experts_per_tok>chosen",
    kMixtralBias =
        "num_local_experts>experts num_experts_per_tok>chosen "
        "attention_bias?attention_bias=yes",
    kRoutedNames = "n_routed_experts>experts num_experts_per_tok>chosen moe_intermediate_size>expert_width",
    kRoutedBias =
        "n_routed_experts>experts num_experts_per_tok>chosen "
        "moe_intermediate_size>expert_width attention_bias?attention_bias=qkv",
    kCountNames = "num_experts>experts num_experts_per_tok>chosen moe_intermediate_size>expert_width";

/// Decoders with experts and grouped queries.
std::vector<DecoderRow> expert_rows() {
  return {
      {"aria_text",
       "AriaTextForCausalLM",
       "vocab_size=32000 hidden_size=4096 intermediate_size=4096 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=silu max_position_embeddings=2048 rms_norm_eps=1e-06 "
       "tie_word_embeddings=false head_dim=null moe_num_experts=8 moe_topk=2 moe_num_shared_experts=2",
       "feed_forwards=experts",
       "moe_num_experts>experts moe_topk>chosen attention_bias?attention_bias=yes",
       "mlp_bias=false",
       "",
       "",
       {read_same_experts, read_shared_experts}},
      {"cohere2_moe",
       "Cohere2MoeForCausalLM",
       "vocab_size=256000 hidden_size=8192 intermediate_size=22528 num_hidden_layers=40 "
       "num_attention_heads=64 head_dim=128 hidden_act=silu max_position_embeddings=8192 "
       "layer_norm_eps=1e-05 tie_word_embeddings=true sliding_window=4096 num_experts_per_tok=2 "
       "num_experts=8 num_shared_experts=0 sliding_window_pattern=4",
       "norm=layer_unbiased branches=shared_norm feed_forwards=experts",
       "num_experts>experts num_experts_per_tok>chosen attention_bias?attention_bias=yes "
       "prefix_dense_intermediate_size>feed_forward",
       "",
       "logit_scale expert_selection_fn shared_expert_combination_strategy "
       "prefix_dense_sliding_window_pattern",
       "",
       {windows_cohere, read_sparse_layers, read_same_experts, read_shared_experts, read_cohere_norm}},
      {"dots1",
       "Dots1ForCausalLM",
       "vocab_size=152064 hidden_size=4608 intermediate_size=10944 moe_intermediate_size=1408 "
       "num_hidden_layers=62 num_attention_heads=32 num_key_value_heads=32 first_k_dense_replace=0 "
       "hidden_act=silu max_position_embeddings=2048 rms_norm_eps=1e-06 tie_word_embeddings=false "
       "sliding_window=4096 max_window_layers=62 n_shared_experts=null",
       "qk_norm=head scores=sigmoid",
       "n_routed_experts>experts num_experts_per_tok>chosen moe_intermediate_size>expert_width "
       "attention_bias?attention_bias=yes",
       "",
       "",
       "n_routed_experts=num_local_experts",
       {read_dots_layers, read_sparse_layers, read_shared_experts}},
      {"ernie4_5_moe",
       "Ernie4_5_MoeForCausalLM",
       "vocab_size=103424 hidden_size=2560 intermediate_size=12288 num_hidden_layers=28 "
       "num_attention_heads=20 num_key_value_heads=4 hidden_act=silu max_position_embeddings=131072 "
       "rms_norm_eps=1e-05 rope_theta=500000 tie_word_embeddings=true moe_intermediate_size=1536 "
       "moe_k=6 moe_num_experts=64 moe_num_shared_experts=2 moe_layer_start_index=1 "
       "moe_layer_interval=1",
       "router_offset=yes",
       "moe_num_experts>experts moe_k>chosen moe_intermediate_size>expert_width",
       "use_bias=false",
       "moe_norm_min moe_capacity moe_gate moe_use_aux_free",
       "moe_num_experts=num_experts moe_k=num_experts_per_tok",
       {read_ernie_layers, read_shared_experts}},
      {"exaone_moe",
       "ExaoneMoeForCausalLM",
       "vocab_size=102400 hidden_size=4096 intermediate_size=16384 num_hidden_layers=32 "
       "num_attention_heads=32 num_key_value_heads=32 hidden_act=silu max_position_embeddings=2048 "
       "rms_norm_eps=1e-05 tie_word_embeddings=false sliding_window=4096 sliding_window_pattern=4 "
       "first_k_dense_replace=1 moe_intermediate_size=1024 num_experts=64 num_experts_per_tok=8 "
       "num_shared_experts=1 norm_topk_prob=true routed_scaling_factor=2.5",
       "qk_norm=head scores=sigmoid",
       kCountNames,
       "",
       "",
       "",
       {read_whole_nope, read_sparse_layers, read_shared_experts}},
      {"flex_olmo",
       "FlexOlmoForCausalLM",
       "vocab_size=100352 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=silu max_position_embeddings=4096 rms_norm_eps=1e-06 "
       "rope_theta=500000 tie_word_embeddings=false num_experts_per_tok=5 num_experts=7 "
       "router_aux_loss_coef=0.01",
       "norms=after qk_norm=whole feed_forwards=experts",
       "num_experts>experts num_experts_per_tok>chosen attention_bias?attention_bias=yes",
       "clip_qkv=null",
       "",
       "num_experts=num_local_experts",
       {read_same_experts}},
      {"glm4_moe",
       "Glm4MoeForCausalLM",
       "vocab_size=151552 hidden_size=4096 intermediate_size=10944 num_hidden_layers=46 "
       "num_attention_heads=96 num_key_value_heads=8 hidden_act=silu max_position_embeddings=131072 "
       "rms_norm_eps=1e-05 tie_word_embeddings=false moe_intermediate_size=1408 "
       "num_experts_per_tok=8 n_shared_experts=1 n_routed_experts=128 first_k_dense_replace=1 "
       "norm_topk_prob=true",
       "scores=sigmoid",
       "n_routed_experts>experts num_experts_per_tok>chosen moe_intermediate_size>expert_width "
       "attention_bias?attention_bias=qkv use_qk_norm?qk_norm=head",
       "",
       "num_nextn_predict_layers num_mtp_layers",
       "n_routed_experts=num_local_experts",
       {read_sparse_layers, read_shared_experts}},
      {"gpt_oss",
       "GptOssForCausalLM",
       "vocab_size=201088 hidden_size=2880 intermediate_size=2880 num_hidden_layers=36 "
       "num_attention_heads=64 num_key_value_heads=8 head_dim=64 hidden_act=silu "
       "max_position_embeddings=131072 rms_norm_eps=1e-05 rope_theta=150000 "
       "tie_word_embeddings=false num_local_experts=128 num_experts_per_tok=4 sliding_window=128 "
       "attention_bias=true",
       "sinks=yes feed_forwards=experts expert_bias=yes expert_clamp=yes router_offset=yes",
       kMixtralBias,
       "",
       "swiglu_alpha swiglu_limit experts_per_token initial_context_length",
       "num_local_experts=num_experts",
       {windows_sf, read_same_experts}},
      {"granitemoe",
       "GraniteMoeForCausalLM",
       "vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=silu max_position_embeddings=2048 rms_norm_eps=1e-06 "
       "tie_word_embeddings=false num_local_experts=8 num_experts_per_tok=2",
       "feed_forwards=experts",
       kMixtralBias,
       "",
       kGranite,
       "",
       {read_same_experts}},
      {"granitemoeshared",
       "GraniteMoeSharedForCausalLM",
       "vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=silu max_position_embeddings=2048 rms_norm_eps=1e-06 "
       "tie_word_embeddings=false num_local_experts=8 num_experts_per_tok=2 "
       "shared_intermediate_size=0",
       "feed_forwards=experts",
       "num_local_experts>experts num_experts_per_tok>chosen attention_bias?attention_bias=yes "
       "shared_intermediate_size>shared_width",
       "",
       kGranite,
       "",
       {read_same_experts}},
      {"granitemoe_swa",
       "GraniteMoeSWAForCausalLM",
       "vocab_size=32000 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=silu max_position_embeddings=2048 rms_norm_eps=1e-06 "
       "tie_word_embeddings=false num_local_experts=8 num_experts_per_tok=2 "
       "shared_intermediate_size=0 sliding_window=128",
       "sinks=yes feed_forwards=experts",
       "num_local_experts>experts num_experts_per_tok>chosen attention_bias?attention_bias=yes "
       "shared_intermediate_size>shared_width",
       "",
       "embedding_multiplier logits_scaling residual_multiplier attention_multiplier layer_rope_theta",
       "",
       {windows_fsss, read_same_experts}},
      {"hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM",
       "vocab_size=290943 hidden_size=4096 intermediate_size=11008 num_hidden_layers=32 "
       "num_attention_heads=32 hidden_act=silu max_position_embeddings=2048 rms_norm_eps=1e-05 "
       "tie_word_embeddings=false head_dim=null num_experts=1 moe_topk=1",
       "qk_norm=head feed_forwards=experts",
       "num_experts>experts moe_topk>chosen intermediate_size>expert_width intermediate_size>shared_width "
       "attention_bias?attention_bias=yes",
       "", "eod_token_id", "num_experts=num_local_experts moe_topk=num_experts_per_tok"},
      {"hy_v3",
       "HYV3ForCausalLM",
       "vocab_size=120832 hidden_size=4096 intermediate_size=13312 num_hidden_layers=80 "
       "num_attention_heads=64 num_key_value_heads=8 head_dim=128 hidden_act=silu "
       "max_position_embeddings=131072 rms_norm_eps=1e-05 rope_theta=11158840 "
       "tie_word_embeddings=false num_experts=192 num_experts_per_tok=8 num_shared_experts=1 "
       "moe_intermediate_size=1536 routed_scaling_factor=2.826 @dense=1",
       "qk_norm=head scores=sigmoid",
       "num_experts>experts num_experts_per_tok>chosen moe_intermediate_size>expert_width "
       "attention_bias?attention_bias=yes",
       "mlp_bias=false",
       "enable_moe_fp32_combine",
       "num_experts=num_local_experts routed_scaling_factor=router_scaling_factor",
       {read_sparse_layers, read_some_shared}},
      {"kolibri1",
       "Kolibri1ForCausalLM",
       "vocab_size=128000 hidden_size=2560 num_hidden_layers=50 num_attention_heads=48 "
       "num_key_value_heads=4 hidden_act=silu max_position_embeddings=262144 rms_norm_eps=1e-06 "
       "tie_word_embeddings=false sliding_window=513 moe_intermediate_size=512 num_experts_per_tok=6 "
       "num_experts=384 head_dim=128 shared_expert_intermediate_size=512",
       "norms=both qk_norm=head scores=sigmoid feed_forwards=experts",
       "num_experts>experts num_experts_per_tok>chosen moe_intermediate_size>expert_width "
       "shared_expert_intermediate_size>shared_width",
       "",
       "",
       "num_experts=num_local_experts",
       {windows_kolibri}},
      {"llama4_text",
       "Llama4ForCausalLM",
       "vocab_size=202048 hidden_size=5120 intermediate_size=8192 intermediate_size_mlp=16384 "
       "num_hidden_layers=48 num_attention_heads=40 num_key_value_heads=8 head_dim=128 "
       "hidden_act=silu max_position_embeddings=131072 rms_norm_eps=1e-05 rope_theta=500000 "
       "tie_word_embeddings=false num_experts_per_tok=1 num_local_experts=16 "
       "interleave_moe_layer_step=1 no_rope_layer_interval=4 attention_chunk_size=8192 "
       "use_qk_norm=true",
       "scores=sigmoid",
       "num_local_experts>experts num_experts_per_tok>chosen attention_bias?attention_bias=yes "
       "use_qk_norm?qk_norm=plain",
       "",
       "attn_temperature_tuning floor_scale attn_scale for_llm_compressor",
       "",
       {read_llama4_layers}},
      {"mellum",
       "MellumForCausalLM",
       "vocab_size=98304 hidden_size=2304 intermediate_size=7168 num_hidden_layers=28 "
       "num_attention_heads=32 num_key_value_heads=4 hidden_act=silu max_position_embeddings=131072 "
       "rms_norm_eps=1e-06 rope_theta=500000 tie_word_embeddings=false sliding_window=1024 "
       "moe_intermediate_size=896 num_experts_per_tok=8 num_experts=64 norm_topk_prob=true "
       "head_dim=128",
       "qk_norm=head",
       "num_experts>experts num_experts_per_tok>chosen moe_intermediate_size>expert_width "
       "attention_bias?attention_bias=yes",
       "num_mtp_layers=0",
       "mtp_layer_types mtp_mlp_layer_types",
       "num_experts=num_local_experts num_mtp_layers=num_nextn_predict_layers",
       {windows_none, read_sparse_layers}},
      {"mimo_v2_flash",
       "MiMoV2FlashForCausalLM",
       "vocab_size=152576 hidden_size=4096 intermediate_size=16384 num_hidden_layers=48 "
       "num_attention_heads=64 num_key_value_heads=4 hidden_act=silu max_position_embeddings=131072 "
       "rms_norm_eps=1e-05 rope_theta=5000000 tie_word_embeddings=false moe_intermediate_size=2048 "
       "num_experts_per_tok=8 n_routed_experts=256 norm_topk_prob=true head_dim=192 v_head_dim=128 "
       "sliding_window=129 @dense=1",
       "sinks=window scores=sigmoid",
       "n_routed_experts>experts num_experts_per_tok>chosen moe_intermediate_size>expert_width "
       "v_head_dim>value_width attention_bias?attention_bias=qkv",
       "sliding_window_size=null",
       "attention_value_scale",
       "n_routed_experts=num_local_experts",
       {read_mimo_layers, read_sparse_layers}},
      {"minimax_m2",
       "MiniMaxM2ForCausalLM",
       "vocab_size=200064 hidden_size=3072 intermediate_size=1536 num_hidden_layers=62 "
       "num_attention_heads=48 num_key_value_heads=8 head_dim=128 hidden_act=silu "
       "max_position_embeddings=196608 rms_norm_eps=1e-06 rope_theta=5000000 "
       "tie_word_embeddings=false num_experts_per_tok=8 num_local_experts=256",
       "qk_norm=whole scores=sigmoid feed_forwards=experts",
       kMixtralNames,
       "",
       "rotary_dim",
       "num_local_experts=num_experts",
       {read_same_experts}},
      {"phimoe",
       "PhimoeForCausalLM",
       "vocab_size=32064 hidden_size=4096 intermediate_size=6400 num_hidden_layers=32 "
       "num_attention_heads=32 num_key_value_heads=8 hidden_act=silu max_position_embeddings=131072 "
       "rms_norm_eps=1e-05 rope_theta=1000000 tie_word_embeddings=false sliding_window=null "
       "num_experts_per_tok=2 num_local_experts=16 router_jitter_noise=0.01",
       "norm=layer feed_forwards=experts",
       "num_local_experts>experts num_experts_per_tok>chosen attention_bias?attention_bias=yes "
       "lm_head_bias?head_bias=yes",
       "",
       "input_jitter_noise original_max_position_embeddings",
       "",
       {windows_all, read_same_experts}},
      {"sarvam_moe",
       "Glm4MoeForCausalLM",
       "vocab_size=262144 hidden_size=4096 intermediate_size=8192 num_hidden_layers=19 "
       "num_attention_heads=64 num_key_value_heads=4 hidden_act=silu max_position_embeddings=131072 "
       "rms_norm_eps=1e-06 tie_word_embeddings=false moe_intermediate_size=1024 "
       "num_experts_per_tok=6 n_shared_experts=1 n_routed_experts=128 first_k_dense_replace=1 "
       "norm_topk_prob=true use_qk_norm=true head_dim=64 routed_scaling_factor=2.5 rope_theta=8000000",
       "scores=sigmoid",
       "n_routed_experts>experts num_experts_per_tok>chosen moe_intermediate_size>expert_width "
       "attention_bias?attention_bias=qkv use_qk_norm?qk_norm=head",
       "",
       "num_nextn_predict_layers num_mtp_layers",
       "n_routed_experts=num_local_experts n_routed_experts=num_experts "
       "n_shared_experts=num_shared_experts attention_bias=use_qkv_bias",
       {read_sparse_layers, read_shared_experts}},
      {"solar_open",
       "SolarOpenForCausalLM",
       "vocab_size=196608 hidden_size=4096 num_hidden_layers=48 num_attention_heads=64 "
       "num_key_value_heads=8 hidden_act=silu max_position_embeddings=131072 rms_norm_eps=1e-05 "
       "rope_theta=1000000 tie_word_embeddings=false moe_intermediate_size=1280 "
       "num_experts_per_tok=8 n_shared_experts=1 n_routed_experts=128 norm_topk_prob=true "
       "head_dim=128",
       "scores=sigmoid feed_forwards=experts",
       kRoutedBias,
       "",
       "",
       "n_routed_experts=num_local_experts",
       {read_shared_experts}},
  };
}

/// Decoders with latent attention.
std::vector<DecoderRow> latent_rows() {
  return {
      {"glm4_moe_lite",
       "Glm4MoeLiteForCausalLM",
       "vocab_size=154880 hidden_size=2048 intermediate_size=10240 moe_intermediate_size=1536 "
       "num_hidden_layers=47 num_attention_heads=20 num_key_value_heads=20 n_shared_experts=1 "
       "n_routed_experts=64 kv_lora_rank=512 q_lora_rank=768 qk_rope_head_dim=64 v_head_dim=256 "
       "qk_nope_head_dim=192 num_experts_per_tok=4 norm_topk_prob=true routed_scaling_factor=1.8 "
       "hidden_act=silu max_position_embeddings=202752 rms_norm_eps=1e-05 tie_word_embeddings=false "
       "@dense=1",
       "scores=sigmoid",
       kRoutedNames,
       "attention_bias=false",
       "num_nextn_predict_layers",
       "n_routed_experts=num_local_experts",
       {read_sparse_layers, read_shared_experts}},
      {"minicpm3", "MiniCPM3ForCausalLM",
       "vocab_size=73448 hidden_size=2560 intermediate_size=6400 num_hidden_layers=62 "
       "num_attention_heads=40 num_key_value_heads=40 hidden_act=silu max_position_embeddings=32768 "
       "rms_norm_eps=1e-05 tie_word_embeddings=true kv_lora_rank=256 q_lora_rank=768 "
       "qk_nope_head_dim=64 qk_rope_head_dim=32 v_head_dim=null",
       "", "mlp_bias?feed_forward_bias=yes", "attention_bias=false", "scale_emb scale_depth dim_model_base"},
      {"sarvam_mla",
       "DeepseekV3ForCausalLM",
       "vocab_size=262144 hidden_size=4096 intermediate_size=16384 moe_intermediate_size=2048 "
       "num_hidden_layers=32 num_attention_heads=64 n_shared_experts=1 n_routed_experts=128 "
       "kv_lora_rank=512 q_lora_rank=null qk_rope_head_dim=64 v_head_dim=128 qk_nope_head_dim=128 "
       "num_experts_per_tok=8 first_k_dense_replace=1 norm_topk_prob=true routed_scaling_factor=2.5 "
       "hidden_act=silu max_position_embeddings=4096 rms_norm_eps=1e-06 tie_word_embeddings=false",
       "scores=sigmoid",
       kRoutedNames,
       "attention_bias=false",
       "num_nextn_predict_layers num_mtp_layers",
       "n_routed_experts=num_local_experts n_routed_experts=num_experts "
       "n_shared_experts=num_shared_experts",
       {read_sparse_layers, read_shared_experts}},
      {"youtu", "YoutuForCausalLM",
       "vocab_size=128256 hidden_size=2048 intermediate_size=6144 num_hidden_layers=32 "
       "num_attention_heads=16 num_key_value_heads=16 kv_lora_rank=512 q_lora_rank=1536 "
       "qk_rope_head_dim=64 v_head_dim=128 qk_nope_head_dim=128 hidden_act=silu "
       "max_position_embeddings=131072 rms_norm_eps=1e-06 tie_word_embeddings=true",
       "", "", "attention_bias=false mlp_bias=false", "embedding_initializer_range"},
  };
}

}  // namespace

const std::vector<DecoderRow>& decoder_rows() {
  static const std::vector<DecoderRow> all = [] {
    std::vector<DecoderRow> out;
    for (const auto& rows :
         {llama_rows(), norm_rows(), older_rows(), expert_rows(), latent_rows(), hybrid_rows()})
      out.insert(out.end(), rows.begin(), rows.end());
    return out;
  }();
  return all;
}

}  // namespace penstock::frameworks
