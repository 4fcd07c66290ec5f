// Arguments and scripts that no plan states.
#include "megatron_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>

#include "harmless_arguments.hpp"
#include "megatron_parts.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::frameworks {
namespace {

/// Arguments that make another computation, unless their value turns them off.
struct Foreign {
  const char* name;
  const char* none;  ///< value that turns the argument off; null: a switch
  const char* what;
};
constexpr Foreign kForeign[] = {
    {"hierarchical_context_parallel_sizes", "", "context parallelism in two ways at once"},
    {"moe_expert_capacity_factor", "", "experts that turn tokens away"},
    {"mtp_num_layers", "0", "multi-token prediction"},
    {"use_megatron_fsdp", nullptr, "Megatron-FSDP"},
    {"use_custom_fsdp", nullptr, "Megatron-FSDP"},
    {"use_torch_fsdp2", nullptr, "FSDP"},
    {"quick_geglu", nullptr, "GEGLU"},
    {"attention_output_gate", nullptr, "gated attention outputs"},
    {"experimental_attention_variant", "", "another attention"},
    {"is_hybrid_model", nullptr, "layers of several kinds"},
    {"heterogeneous_layers_config_path", "", "layers that differ"},
    {"heterogeneous_layers_config_encoded_json", "", "layers that differ"},
    {"moe_latent_size", "", "experts of a width of their own"},
    {"te_precision_config_file", "", "numbers by a file"},
    {"tensor_parallel_num_weight_shards", "1", "weights sharded otherwise than tensor parallelism"},
    {"expert_tensor_parallel_num_weight_shards", "1", "weights sharded otherwise than tensor parallelism"},
    {"hybrid_context_parallel", nullptr, "context groups of several sizes"},
    {"use_tp_pp_dp_mapping", nullptr, "ranks in another order"},
    {"grad_reduce_in_bf16", nullptr, "gradients reduced in bf16"},
    {"main_grads_dtype", "fp32", "gradients of other numbers"},
    {"main_params_dtype", "fp32", "master weights of other numbers"},
    {"exp_avg_dtype", "fp32", "moments of other numbers"},
    {"exp_avg_sq_dtype", "fp32", "moments of other numbers"},
    {"optimizer_cpu_offload", nullptr, "optimizer state in host memory"},
    {"cpu_offloading", nullptr, "activations in host memory"},
    {"cpu_offloading_num_layers", "0", "activations in host memory"},
    {"fine_grained_activation_offloading", nullptr, "activations in host memory"},
    {"moe_layer_recompute", nullptr, "recomputation of experts alone"},
    {"distribute_saved_activations", nullptr, "saved activations divided over tensor-parallel groups"},
    {"overlap_moe_expert_parallel_comm", nullptr, "a micro-batch more in flight, to hide experts' messages"},
    {"defer_embedding_wgrad_compute", nullptr,
     "inputs and gradients of the head kept for several micro-batches"},
    {"moe_expert_rank_capacity_factor", "", "experts that turn tokens away"},
    {"moe_paged_stash", nullptr, "activations of experts in pages"},
    {"fp8_e4m3", nullptr, "8-bit numbers by an older argument than --fp8-format"},
    {"fp8_hybrid", nullptr, "8-bit numbers by an older argument than --fp8-format"},
    {"fp8_param", nullptr, "8-bit weights without 16-bit ones"},
    {"fp8_param_gather", nullptr, "8-bit weights without 16-bit ones"},
    {"fp4_param", nullptr, "4-bit weights without 16-bit ones"},
    {"fp4_param_gather", nullptr, "4-bit weights without 16-bit ones"},
    {"fp8_dot_product_attention", nullptr, "attention's core in 8 bits"},
    {"fp8_multi_head_attention", nullptr, "attention's core in 8 bits"},
    {"fp8_output_proj", nullptr, "a head in 8 bits"},
    {"no_fp8_wgrad", nullptr, "weight gradients in 16 bits"},
    {"disable_fp8_wgrad", nullptr, "weight gradients in 16 bits"},
    {"first_last_layers_bf16", nullptr, "some layers in 16 bits"},
    {"activation_func_fp8_input_store", nullptr, "activations' inputs saved in 8 bits"},
    {"perform_rl_step", nullptr, "training by reinforcement, which generates text too"},
    {"langrl_env_config", "", "training by reinforcement, which generates text too"},
    {"logits_load_dir", "", "a teacher's logits"},
    {"export_kd_teacher_load", "", "a teacher model"},
    {"restore_modelopt_state", nullptr, "a model changed by ModelOpt"},
    {"yaml_cfg", "", "arguments in a file of their own, to be imported instead"},
    {"disable_vision_class_token", nullptr, "a tower for images"},
    {"mrope_section", "", "positions along several axes"},
    {"fp32_residual_connection", nullptr, "residual sums in fp32"},
    {"variable_seq_lengths", nullptr, "samples of several lengths"},
    {"mlp_chunks_for_training", "1", "feed-forwards in chunks"},
    {"num_microbatches_with_partial_activation_checkpoints", "", "recomputation of some micro-batches"},
    {"partition_activations", nullptr, "saved activations divided over tensor-parallel groups"},
    {"distribute_checkpointed_activations", nullptr, "saved activations divided over tensor-parallel groups"},
    {"checkpoint_in_cpu", nullptr, "activations in host memory"},
    {"cpu_optimizer", nullptr, "optimizer state in host memory"},
    {"decoder_num_layers", "", "a decoder behind an encoder"},
    {"encoder_num_layers", "", "an encoder"},
    {"standalone_embedding_stage", nullptr, "an embedding on a rank of its own"},
    {"pipeline_model_parallel_split_rank", "", "a decoder behind an encoder"},
    {"encoder_tensor_model_parallel_size", "0", "an encoder with degrees of its own"},
    {"encoder_pipeline_model_parallel_size", "0", "an encoder with degrees of its own"},
    {"use_kitchen", nullptr, "numbers by a file"},
    {"quant_recipe", "", "numbers by a file"},
    {"heterogeneous_block_specs", nullptr, "layers that differ"},
};

/// Beginnings of such names.
struct ForeignPrefix {
  const char* begin;
  const char* what;
};
constexpr ForeignPrefix kForeignPrefixes[] = {
    {"freeze_", "weights that do not train"},
    {"vision_", "a tower for images"},
    {"dino_", "a tower for images"},
    {"img_", "a tower for images"},
    {"patch_dim", "a tower for images"},
    {"language_model_type", "a tower for images"},
    {"retro_", "a model that reads retrieved text"},
    {"biencoder_", "a pair of encoders"},
    {"ict_", "a pair of encoders"},
    {"rwkv_", "layers of RWKV"},
    {"mamba_", "layers of Mamba"},
    {"linear_attention", "linear attention"},
    {"linear_conv_", "linear attention"},
    {"linear_key_", "linear attention"},
    {"linear_value_", "linear attention"},
    {"linear_num_", "linear attention"},
    {"gated_delta", "gated delta nets"},
    {"dsa_", "sparse attention"},
    {"curriculum_", "samples whose length changes"},
    {"lora_", "LoRA"},
    {"peft", "LoRA and its kind"},
};

/// Words in the name of a script that trains another model than a decoder.
struct ForeignScript {
  const char* word;
  const char* what;
};
constexpr ForeignScript kForeignScripts[] = {
    {"bert", "BERT, an encoder"},
    {"t5", "T5, an encoder and a decoder"},
    {"ict", "a pair of encoders"},
    {"biencoder", "a pair of encoders"},
    {"realm", "a model that reads retrieved text"},
    {"retro", "a model that reads retrieved text"},
    {"vision", "a model of images"},
    {"vit", "a model of images"},
    {"dino", "a model of images"},
    {"swin", "a model of images"},
    {"vlm", "a model of images and text"},
    {"vl", "a model of images and text"},
    {"llava", "a model of images and text"},
    {"multimodal", "a model of images and text"},
    {"mamba", "layers of Mamba"},
    {"hybrid", "layers of several kinds"},
    {"rwkv", "layers of RWKV"},
    {"diffusion", "a diffusion model"},
    {"rl", "by reinforcement, which generates text too"},
    {"grpo", "by reinforcement, which generates text too"},
    {"ppo", "by reinforcement, which generates text too"},
    {"dpo", "beside a reference model"},
};

/// Names that are read beside another argument only, and change nothing without it.
constexpr std::string_view kOfExperts = R"(
    first_k_dense_replace moe_aux_loss_coeff moe_ffn_hidden_size moe_input_jitter_eps moe_intermediate_size
    moe_layer_freq moe_router_enable_expert_bias moe_router_group_topk moe_router_load_balancing_type
    moe_router_num_groups moe_router_pre_softmax moe_router_topk moe_router_topk_scaling_factor
    moe_shared_expert_gate moe_shared_expert_intermediate_size n_shared_experts)";
constexpr std::string_view kOfLatent = "kv_lora_rank q_lora_rank qk_head_dim qk_pos_emb_head_dim v_head_dim";
/// Names that latent attention makes idle.
constexpr std::string_view kIdleWithLatent = "group_query_attention kv_channels num_query_groups";

[[noreturn]] void fail_foreign(const MegatronArguments& args, std::string_view name, const char* what) {
  args.fail(name, fmt::format("{}: no plan states this (--ignore {} reads the rest)", what, name));
}

void refuse_script(MegatronArguments& args) {
  const auto& script = args.script();
  if (!script) return;
  const auto words = script_words(args);
  const bool encoder = !encoder_family(args).empty(), hybrid = is_hybrid(args);
  const auto reads = [&](std::string_view word) {  // layers of Mamba by a pattern
    return word == "mamba" || word == "hybrid" ? hybrid : encoder && (word == "bert" || word == "t5");
  };
  for (const ForeignScript& each : kForeignScripts)
    if (words.contains(each.word) && !reads(each.word))
      args.fail_at(
          script->line, script->name(),
          fmt::format(
              "trains {}; decoders of text, BERT and T5 are read (--ignore {} reads the arguments as a decoder's)",
              each.what, script->name()));
}

/// --spec names a module with layers of its own, unless these are GPT's.
void refuse_layers(MegatronArguments& args) {
  if (const std::string spec = args.text("spec", "local");
      spec != "local" && spec.find("gpt_layer") == spec.npos &&
      !(is_hybrid(args) && (spec.find("hybrid_stack") != spec.npos || spec.find("mamba_stack") != spec.npos)))
    fail_foreign(args, "spec", "layers of a module");
  if (!args.has("activation_func")) return;
  const std::string activation = args.text("activation_func", "");
  const bool gated = args.flag("gated_linear_unit");
  const bool known = activation.find(gated ? "silu" : "gelu") != activation.npos &&
                     activation.find("quick") == activation.npos;
  if (!known && !args.nothing("activation_func"))
    args.fail("activation_func",
              fmt::format("expected silu with gated_linear_unit, or gelu without, found '{}'", activation));
}

}  // namespace

std::set<std::string, std::less<>> script_words(const MegatronArguments& args) {
  if (!args.script()) return {};
  std::string path = args.script()->path;
  path = path.substr(0, path.rfind('.'));
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "" : path.substr(0, slash);
  std::string text = slash == path.npos ? path : path.substr(slash + 1);
  std::ranges::replace_if(
      text, [](char c) { return c == '_' || c == '-' || c == '.'; }, ' ');
  auto out = words_of(text);
  if (folder.substr(folder.rfind('/') + 1) == "multimodal") out.insert("multimodal");
  return out;
}

void refuse_foreign(MegatronArguments& args) {
  refuse_script(args);
  refuse_layers(args);
  for (const Foreign& each : kForeign) {
    const bool used =
        each.none ? !args.nothing(each.name) && args.text(each.name, "") != each.none : args.flag(each.name);
    const std::string_view name(each.name);
    const bool read = (name == "is_hybrid_model" && is_hybrid(args)) ||
                      (encoder_family(args) == "encoder_decoder" && name.ends_with("coder_num_layers"));
    if (used && !read) fail_foreign(args, each.name, each.what);
  }
  const bool hybrid = is_hybrid(args);  // has layers of Mamba, whose widths are read
  for (const std::string& name : args.unread())
    for (const ForeignPrefix& each : kForeignPrefixes)
      if (name.starts_with(each.begin) && !args.nothing(name) && !(hybrid && name.starts_with("mamba_")))
        fail_foreign(args, name, each.what);
}

void refuse_unknown(MegatronArguments& args) {
  constexpr std::size_t kShort = 8;  // letters: shorter names of other arguments are near each other
  const bool experts = args.has("num_experts") || args.has("num_moe_experts");
  const bool latent = args.flag("multi_latent_attention");
  static const auto of_experts = words_of(kOfExperts), of_latent = words_of(kOfLatent),
                    idle = words_of(kIdleWithLatent);
  const auto counts_for_nothing = [&](const std::string& name) {
    return (!experts && of_experts.contains(name)) || (latent ? idle : of_latent).contains(name);
  };
  std::vector<std::string> unknown;
  for (const std::string& name : args.unread())
    if (!is_harmless(name) && !args.stands_aside(name) && !counts_for_nothing(name)) unknown.push_back(name);
  if (unknown.empty()) return;
  const std::string& first = unknown.front();
  const std::string hint = first.size() > kShort ? core::did_you_mean(first, args.read()) : "";
  const std::string others =
      unknown.size() == 1
          ? ""
          : fmt::format("; also unknown: {}", fmt::join(unknown.begin() + 1, unknown.end(), ", "));
  args.fail(first, hint.starts_with("did")
                       ? fmt::format("Megatron-LM has no such argument; {} (--ignore {} reads the rest){}",
                                     hint, first, others)
                       : fmt::format("is not known, and may change model, time or memory (--ignore {} reads "
                                     "the rest){}",
                                     first, others));
}

}  // namespace penstock::frameworks
