#include "config_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "penstock/core/spelling.hpp"

namespace penstock::frameworks {
namespace {

constexpr std::int64_t kMostCount = (std::int64_t{1} << 31) - 1;  // products of two stay numbers

/// Keys that change no operator, size or edge: where weights begin, what tokens mean, how a program loads and
/// answers. Dropout is no operator of the zoo; where rotary positions turn to costs the same.
const std::vector<std::string_view> kHarmless = {"_name_or_path",
                                                 "architectures",
                                                 "model_type",
                                                 "torch_dtype",
                                                 "dtype",
                                                 "transformers_version",
                                                 "bos_token_id",
                                                 "eos_token_id",
                                                 "pad_token_id",
                                                 "sep_token_id",
                                                 "cls_token_id",
                                                 "unk_token_id",
                                                 "decoder_start_token_id",
                                                 "initializer_range",
                                                 "initializer_factor",
                                                 "init_std",
                                                 "use_cache",
                                                 "rms_norm_eps",
                                                 "layer_norm_eps",
                                                 "layer_norm_epsilon",
                                                 "rope_theta",
                                                 "rope_scaling",
                                                 "rope_parameters",
                                                 "attention_dropout",
                                                 "activation_dropout",
                                                 "hidden_dropout",
                                                 "hidden_dropout_prob",
                                                 "attention_probs_dropout_prob",
                                                 "classifier_dropout",
                                                 "embd_pdrop",
                                                 "attn_pdrop",
                                                 "resid_pdrop",
                                                 "dropout",
                                                 "layerdrop",
                                                 "output_attentions",
                                                 "output_hidden_states",
                                                 "return_dict",
                                                 "torchscript",
                                                 "gradient_checkpointing",
                                                 "task_specific_params",
                                                 "prefix",
                                                 "problem_type",
                                                 "pretraining_tp",
                                                 "tokenizer_class",
                                                 "id2label",
                                                 "label2id"};

bool is_null(const core::Yaml& node) {
  return !node.is_map() && !node.is_list() && !node.is_scalar();
}

/// A key that no reader of a family takes, and the value by which it changes nothing.
struct OffValue {
  std::string_view key, off;  ///< "[]" of lists and mappings
  std::string_view families;  ///< "": all; "-a b": all except a and b; else these
};

constexpr std::string_view kHasNoBiases = "-qwen2 qwen2_moe gpt2 gpt_neox opt bert vit clip_vision_model";
constexpr std::string_view kNormsKeys = "qwen3 qwen3_moe olmoe", kNormsNoKeys = "-qwen3 qwen3_moe olmoe";

constexpr OffValue kOff[] = {
    {"attention_bias", "false", kHasNoBiases},
    {"qkv_bias", "false", kHasNoBiases},
    {"attention_qkv_bias", "false", kHasNoBiases},
    {"attention_out_bias", "false", "-gpt2 gpt_neox opt bert vit clip_vision_model"},
    {"mlp_bias", "false", "-gpt2 gpt_neox opt bert vit clip_vision_model"},
    {"use_bias", "false", kHasNoBiases},
    {"use_qkv_bias", "false", kHasNoBiases},
    {"bias", "false", kHasNoBiases},
    {"lm_head_bias", "false", ""},
    {"use_qk_norm", "true", kNormsKeys},
    {"use_qk_norm", "false", kNormsNoKeys},
    {"qk_norm", "true", kNormsKeys},
    {"qk_norm", "false", kNormsNoKeys},
    {"qk_layernorm", "true", kNormsKeys},
    {"qk_layernorm", "false", kNormsNoKeys},
    {"num_experts", "0", ""},
    {"num_local_experts", "0", ""},
    {"num_shared_experts", "0", ""},
    {"n_shared_experts", "0", ""},
    {"shared_expert_intermediate_size", "0", ""},
    {"moe_shared_expert_intermediate_size", "0", ""},
    {"first_k_dense_replace", "0", ""},
    {"decoder_sparse_step", "1", ""},
    {"moe_layer_freq", "1", ""},
    {"mlp_only_layers", "[]", ""},
    {"num_nextn_predict_layers", "0", ""},
    {"n_group", "1", ""},
    {"topk_group", "1", ""},
    {"use_sliding_window", "false", ""},
    {"sliding_window", "false", ""},
    {"use_mrope", "false", ""},
    {"alibi", "false", ""},
    {"use_alibi", "false", ""},
    {"parallel_attn", "false", ""},
    {"use_parallel_residual", "false", ""},
    {"add_cross_attention", "false", ""},
    {"is_encoder_decoder", "false", ""},
    {"is_decoder", "false", ""},
    {"tie_encoder_decoder", "false", ""},
    {"chunk_size_feed_forward", "0", ""},
    {"pruned_heads", "[]", ""},
    {"no_rope_layers", "[]", ""},
    {"residual_multiplier", "1", ""},
    {"embedding_multiplier", "1", ""},
    {"logits_scaling", "1", ""},
    {"logit_scale", "1", ""},
    {"attn_output_gate", "false", ""},
};

bool has_family(std::string_view families, const std::string& model_type) {
  const bool except = families.starts_with('-');
  if (except) families.remove_prefix(1);
  const std::string padded = fmt::format(" {} ", families);
  return families.empty() || (padded.find(fmt::format(" {} ", model_type)) != padded.npos) != except;
}

/// Null counts as absent.
bool is_off(std::string_view key, const core::Yaml& value, const std::string& model_type) {
  if (is_null(value)) return true;
  const std::string text =
      (value.is_list() && value.items().empty()) || (value.is_map() && value.entries().empty()) ? "[]"
      : value.is_scalar() && value.plain() ? value.scalar()
                                           : "";
  return std::ranges::any_of(kOff, [&](const OffValue& each) {
    const bool equal = text == each.off || text == fmt::format("{}.0", each.off);
    return key == each.key && equal && has_family(each.families, model_type);
  });
}

}  // namespace

ConfigKeys::ConfigKeys(core::Yaml root, ConfigDefaults defaults)
    : root_(std::move(root)), defaults_(std::move(defaults)) {
  pass(kHarmless);
}

std::optional<core::Yaml> ConfigKeys::find(std::string_view key) {
  read_.emplace(key);
  auto found = root_.find(key);
  return found && !is_null(*found) ? found : std::nullopt;
}

bool ConfigKeys::states(std::string_view key) {
  read_.emplace(key);
  return root_.find(key).has_value();
}

core::Yaml ConfigKeys::at(std::string_view key) {
  const auto found = find(key);
  if (!found) root_.fail(fmt::format("the key '{}' is missing", key));
  return *found;
}

std::int64_t ConfigKeys::count(std::string_view key) {
  if (!root_.find(key) && defaults_.contains(key)) return left_out(key, 0);
  return at(key).integer(1, kMostCount);
}

std::int64_t ConfigKeys::count(std::string_view key, std::int64_t otherwise) {
  const auto found = find(key);
  return found ? found->integer(1, kMostCount) : left_out(key, otherwise);
}

std::int64_t ConfigKeys::left_out(std::string_view key, std::int64_t otherwise) const {
  const auto usual = defaults_.find(key);
  return usual == defaults_.end() || root_.find(key) ? otherwise : usual->second;
}

double ConfigKeys::number(std::string_view key, double otherwise) {
  const auto found = find(key);
  return found ? found->number() : otherwise;
}

bool ConfigKeys::flag(std::string_view key, bool otherwise) {
  const auto found = find(key);
  return found ? found->flag() : otherwise;
}

std::string ConfigKeys::text(std::string_view key, const std::string& otherwise) {
  const auto found = find(key);
  return found ? found->text() : otherwise;
}

void ConfigKeys::demand(std::string_view key, bool value, bool otherwise, const std::string& why) {
  if (flag(key, otherwise) == value) return;
  fail(key, fmt::format("expected {}: {}", value, why));
}

void ConfigKeys::demand(std::string_view key, const std::vector<std::string>& known,
                        const std::string& otherwise) {
  const std::string given = text(key, otherwise);
  if (std::find(known.begin(), known.end(), given) != known.end()) return;
  fail(key, fmt::format("'{}' is not computed by the zoo; known: {}", given, fmt::join(known, ", ")));
}

void ConfigKeys::refuse_others(const std::string& model_type) const {
  for (const auto& [key, value] : root_.entries()) {
    if (read_.contains(key)) continue;
    if (is_off(key, value, model_type)) continue;
    const std::string hint = core::did_you_mean(key, {read_.begin(), read_.end()});
    value.fail(
        fmt::format("is not known of {}{}: it may change what is computed; leave it out where it does not",
                    model_type, hint.starts_with("did you mean") ? " (" + hint + ")" : ""));
  }
}

void ConfigKeys::fail(std::string_view key, const std::string& message) const {
  if (const auto found = root_.find(key); found) found->fail(message);
  root_.fail(fmt::format("{} is left out: {}", key, message));
}

}  // namespace penstock::frameworks
