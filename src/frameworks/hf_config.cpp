#include "penstock/frameworks/hf_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "config_keys.hpp"
#include "hf_architectures.hpp"

namespace penstock::frameworks {
namespace {

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
      {{"qwen2_vl", "qwen2_5_vl", "qwen3_vl"},
       "cuts images of any size into patches and turns positions along three axes, where the zoo's vlm is "
       "LLaVA-1.5's (llava)"},
      {{"clip", "clip_vision_model", "clip_text_model"},
       "is not the zoo's clip, which is GraphPipe's: two bare stacks without embeddings, norms or "
       "projections; "
       "as vision_config of llava, clip_vision_model is read"},
      {{"siglip", "siglip_vision_model", "siglip2", "siglip_text_model"},
       "has no class token, where the one tower of the zoo that joins a text (vlm's) is CLIP's"},
      {{"llava_next", "llava_onevision", "vipllava", "video_llava", "mllama", "idefics3", "internvl"},
       "joins images and text otherwise than LLaVA-1.5, which the zoo's vlm is (llava)"},
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
  architecture.read(keys, tokens, out.model.parameters);
  if (!architecture.note.empty()) out.notes.emplace_back(architecture.note);
  keys.refuse_others(std::string(architecture.model_type));
  return out;
}

}  // namespace penstock::frameworks
