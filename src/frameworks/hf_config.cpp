#include "penstock/frameworks/hf_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "config_keys.hpp"
#include "hf_architectures.hpp"
#include "hf_statements.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::frameworks {
namespace {

constexpr std::string_view kListed = "penstock import hf --help lists those that are read",
                           kThrough = "`penstock import hf --through torch` reads more by transformers";

/// Why there is no family for wanted models, and the nearest type that is read; "" if none is near.
struct MissingTypes {
  std::vector<std::string_view> model_types;
  const char *why, *nearest;
};

const std::vector<MissingTypes>& missing_types() {
  static const std::vector<MissingTypes> all = {
      {{"deepseek_v32", "glm_moe_dsa", "deepseek_v4", "dots3_note_text", "hy_v4"},
       "picks keys by an index of its own, which family decoder does not have",
       "deepseek_v3"},
      {{"qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"},
       "has linear attention and output gates, which family decoder does not have",
       "qwen3_moe"},
      {{"kimi_linear", "bailing_hybrid", "minimax", "lara_mini"},
       "has linear attention, which family decoder does not have",
       "olmo_hybrid"},
      {{"afmoe", "laguna", "flint"},
       "gates the output of attention, which family decoder does not",
       "glm4_moe"},
      {{"gemma3n_text", "gemma4", "gemma4_text", "gemma4_unified", "gemma4_unified_text"},
       "shares keys and values between layers and has embeddings of each layer, which family decoder does not have",
       "gemma3_text"},
      {{"gemma3"},
       "has a vision tower, of which the zoo has CLIP's only (llava); its text_config is read by itself",
       "gemma3_text"},
      {{"bitnet"}, "has norms inside its branches, which family decoder does not have", "llama"},
      {{"diffllama"}, "takes the difference of two attentions, which family decoder does not have", "llama"},
      {{"lfm2_moe", "lfm3"}, "has short convolutions otherwise than lfm2", "lfm2"},
      {{"dbrx", "jetmoe"}, "routes tokens to experts otherwise than the zoo's families do", "mixtral"},
      {{"t5", "mt5", "bart", "mbart", "marian", "whisper", "pegasus"},
       "has an encoder and a decoder; of these the zoo has the first Transformer alone (encoder_decoder)",
       ""},
      {{"qwen2_vl", "qwen2_5_vl", "qwen3_vl"},
       "cuts images of any size into patches and turns positions along three axes, where the zoo's vlm is "
       "LLaVA-1.5's",
       "llava"},
      {{"clip", "clip_vision_model", "clip_text_model"},
       "is not the zoo's clip, which is GraphPipe's: two bare stacks without embeddings, norms or "
       "projections; as vision_config of llava, clip_vision_model is read",
       "llava"},
      {{"siglip", "siglip_vision_model", "siglip2", "siglip_text_model"},
       "has no class token, where the one tower of the zoo that joins a text (vlm's) is CLIP's",
       "llava"},
      {{"llava_next", "llava_onevision", "vipllava", "video_llava", "mllama", "idefics3", "internvl"},
       "joins images and text otherwise than LLaVA-1.5, which the zoo's vlm is",
       "llava"},
      {{"rwkv", "recurrent_gemma"}, "has recurrent layers, which no family of the zoo states", ""},
      {{"falcon_h1", "zamba", "zamba2"},
       "has attention beside state spaces in a layer, which family decoder does not have",
       "bamba"},
  };
  return all;
}

[[noreturn]] void refuse(const core::Yaml& type) {
  const std::string name = type.text();
  for (const MissingTypes& group : missing_types())
    if (std::ranges::count(group.model_types, name) > 0)
      type.fail(fmt::format("'{}' {}; {}; {}", name, group.why,
                            *group.nearest ? fmt::format("the nearest type that is read is {}", group.nearest)
                                           : std::string(kListed),
                            kThrough));
  const std::string hint = core::did_you_mean(name, hf_model_types());
  type.fail(fmt::format("'{}' is no architecture that the zoo computes; {}; {}", name,
                        hint.starts_with("did you mean") ? hint : std::string(kListed), kThrough));
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

/// The part behind the last slash of a name on the Hub; a path has nothing of the model.
std::string hub_name(const core::Yaml& root) {
  const auto given = root.find("_name_or_path");
  if (!given || !given->is_scalar()) return "";
  const std::string name = given->scalar();
  if (name.starts_with('/') || name.starts_with('.') || std::ranges::count(name, '/') > 1) return "";
  return name.substr(name.find('/') + 1);
}

/// "Qwen3-32B" of Qwen3-32B.json and of Qwen3-32B/config.json.
std::string file_name(const std::string& file) {
  const auto path = std::filesystem::absolute(file).lexically_normal();
  const std::string stem = path.stem().string();
  return stem == "config" && path.has_parent_path() ? path.parent_path().filename().string() : stem;
}

std::string label_of(const core::Yaml& root, const std::string& file) {
  const std::string name = hub_name(root);
  return name.empty() ? file_name(file) : name;
}

/// Weights in 16 bits are trained with master weights in fp32.
std::string dtype_precision(const core::Yaml& root) {
  auto given = root.find("torch_dtype");
  if (!given) given = root.find("dtype");
  if (!given || !given->is_scalar()) return "";
  const std::string dtype = given->text();
  if (dtype.ends_with("bfloat16")) return "mixed_bf16";
  if (dtype.ends_with("float16")) return "mixed_fp16";
  if (dtype.ends_with("float32")) return "fp32";
  if (dtype.empty() || dtype == "auto" || dtype == "null" || dtype == "~") return "";
  given->fail(fmt::format(
      "'{}' is no type that training keeps weights in: expected bfloat16, float16 or float32", dtype));
}

/// Note on weights that are stored in another number format than they are trained in; "" if there are none.
std::string storage_note(ConfigKeys& keys, const std::string& precision) {
  const auto given = keys.find("quantization_config");
  if (!given) return "";
  if (!given->is_map()) given->fail("expected a mapping with quant_method");
  const auto method = given->find("quant_method");
  return fmt::format("the checkpoint is stored in {} (quantization_config); training is planned in {}",
                     method && method->is_scalar() ? method->text() : "fewer bits",
                     precision.empty() ? "the precision that --precision states" : precision);
}

/// Where neither text nor tower of the config states its positions, the reader's default counts.
std::optional<std::int64_t> positions_of(const core::Yaml& root) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  for (const char* key : {"max_position_embeddings", "n_positions"})
    if (const auto given = root.find(key); given && given->is_scalar()) return given->integer(1, kMost);
  const auto text = root.find("text_config");
  return text && text->is_map() ? positions_of(*text) : std::nullopt;
}

/// Fewer than `at_most` positions all count.
std::optional<std::int64_t> tokens_of(const core::Yaml& root, const SampleTokens& asked) {
  if (asked.exactly || !asked.at_most) return asked.exactly;
  const auto positions = positions_of(root);
  return positions && *positions > *asked.at_most ? asked.at_most : std::nullopt;
}

}  // namespace

std::vector<std::string> hf_model_types() {
  std::vector<std::string> out;
  for (const HfArchitecture& one : hf_architectures()) out.emplace_back(one.model_type);
  return out;
}

bool is_hf_config(std::string_view text) {
  const auto says = [&](const char* key) { return text.find(key) != text.npos; };
  return !says("penstock") && (says("\"model_type\"") || says("\"architectures\""));
}

HfModel parse_hf_config(const std::string& text, const std::string& file,
                        std::optional<std::int64_t> tokens) {
  return parse_hf_config(text, file, SampleTokens{tokens, {}});
}

HfModel parse_hf_config(const std::string& text, const std::string& file, const SampleTokens& tokens) {
  const auto root = core::Yaml::parse(text, file);
  const HfArchitecture& architecture = architecture_of(root);
  HfModel out{{architecture.family, {}}, class_of(root), {}};
  check_class(architecture, out.architecture, root, out.notes);
  if (out.architecture.empty()) out.architecture = architecture.model_type;
  ConfigKeys keys(root, architecture.defaults);
  architecture.read(keys, tokens_of(root, tokens), out.model.parameters);
  out.model.label = label_of(root, file);
  out.precision = dtype_precision(root);
  leave_out_usual(architecture.family, out.model.parameters);
  if (models::has_parameter(architecture.family, "loss")) out.model.parameters["loss"] = "yes";
  if (!architecture.note.empty()) out.notes.emplace_back(architecture.note);
  if (std::string note = storage_note(keys, out.precision); !note.empty())
    out.notes.push_back(std::move(note));
  keys.refuse_others(std::string(architecture.model_type));
  return out;
}

}  // namespace penstock::frameworks
