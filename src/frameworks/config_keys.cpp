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
