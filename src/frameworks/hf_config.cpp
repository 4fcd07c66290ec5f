#include "penstock/frameworks/hf_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config_keys.hpp"
#include "hf_architectures.hpp"

namespace penstock::frameworks {
namespace {

/// What changes no operator, size or edge: where weights begin, what tokens mean, how a program loads and
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

/// Why there is no family for what people ask for most.
struct Missing {
  std::vector<std::string_view> model_types;
  const char* why;
};

const std::vector<Missing>& missing() {
  static const std::vector<Missing> all = {
      {{"glm4_moe", "gpt_oss", "llama4", "phimoe", "dbrx", "ernie4_5_moe", "granitemoe"},
       "routes tokens to experts otherwise than the zoo's families do"},
      {{"t5", "mt5", "bart", "mbart", "marian", "whisper", "pegasus"},
       "has an encoder and a decoder; of these the zoo has the first Transformer alone (encoder_decoder)"},
      {{"llava", "llava_next", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "mllama", "idefics3", "internvl", "clip",
        "siglip"},
       "joins images and text, which no family of the zoo states as it does"},
      {{"mamba", "mamba2", "jamba", "rwkv", "bamba", "zamba2", "falcon_mamba"},
       "has state-space layers, which no family of the zoo states"},
      {{"gemma", "gemma2", "gemma3", "gemma3_text"},
       "gates by GELU and scales its embeddings, which no family of the zoo does"},
  };
  return all;
}

[[noreturn]] void refuse(const core::Yaml& type) {
  std::vector<std::string_view> known;
  for (const HfArchitecture& one : hf_architectures()) known.push_back(one.model_type);
  const std::string list = fmt::format("known: {}", fmt::join(known, ", "));
  for (const Missing& group : missing())
    if (std::ranges::count(group.model_types, type.text()) > 0)
      type.fail(fmt::format("'{}' {}; {}", type.text(), group.why, list));
  type.fail(fmt::format("'{}' is no architecture that the zoo computes; {}", type.text(), list));
}

const HfArchitecture& architecture_of(const core::Yaml& root) {
  const core::Yaml type = root.at("model_type");
  for (const HfArchitecture& one : hf_architectures())
    if (one.model_type == type.text()) return one;
  refuse(type);
}

/// The class that the config was written by, or "".
std::string class_of(const core::Yaml& root) {
  const auto list = root.find("architectures");
  if (!list || !list->is_list()) return "";
  const auto classes = list->items();
  return classes.empty() ? "" : classes.front().text();
}

void check_class(const HfArchitecture& architecture, const std::string& given, const core::Yaml& root,
                 std::vector<std::string>& notes) {
  if (given.empty() || given == architecture.classes.front()) return;
  if (std::ranges::count(architecture.classes, given) == 0)
    root.at("architectures")
        .fail(fmt::format("'{}' is not computed by the zoo's {}; known: {}", given, architecture.family,
                          fmt::join(architecture.classes, ", ")));
  notes.push_back(
      fmt::format("{} is taken as {}: {}", given, architecture.classes.front(), architecture.instead));
}

}  // namespace

bool is_hf_config(std::string_view text) {
  const auto says = [&](const char* key) { return text.find(key) != text.npos; };
  return !says("penstock") && (says("\"model_type\"") || says("\"architectures\""));
}

HfModel parse_hf_config(const std::string& text, const std::string& file,
                        std::optional<std::int64_t> tokens) {
  const auto root = core::Yaml::parse(text, file);
  const HfArchitecture& architecture = architecture_of(root);
  HfModel out{{architecture.family, {}}, class_of(root), {}};
  check_class(architecture, out.architecture, root, out.notes);
  if (out.architecture.empty()) out.architecture = architecture.model_type;
  ConfigKeys keys(root);
  keys.pass(kHarmless);
  architecture.read(keys, tokens, out.model.parameters);
  keys.refuse_others(std::string(architecture.model_type));
  return out;
}

}  // namespace penstock::frameworks
