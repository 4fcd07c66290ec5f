// Parts of a described decoder that Megatron-core has no words for. Its words are those of
// megatron/core/transformer/transformer_config.py and megatron/training/arguments.py (0.19).

#include <algorithm>
#include <set>

#include "megatron_lines.hpp"
#include "models/layer_words.hpp"
#include "models/parameters.hpp"

namespace penstock::frameworks {
namespace {

using Values = std::map<std::string, std::string>;

struct PartLimit {
  const char* parameter;
  std::set<std::string> known;
};

/// Parameters of which only some values have words, whatever the others are.
const std::vector<PartLimit>& part_limits() {
  static const std::vector<PartLimit> all = {
      {"norm", {"rms", "layer"}},   {"norms", {"before"}},        {"branches", {"in_turn"}},
      {"embedding_norm", {"no"}},   {"final_norm", {"yes"}},      {"sinks", {"no", "yes"}},
      {"router_offset", {"no"}},    {"expert_clamp", {"no"}},     {"head_bias", {"no"}},
      {"mask", {"causal"}},         {"window_heads", {"0"}},      {"window_kv_heads", {"0"}},
      {"window_head_width", {"0"}}, {"window_value_width", {"0"}}};
  return all;
}

std::set<std::string> words_of(const Values& p, const char* parameter) {
  std::set<std::string> out;
  for (const auto& layer : models::parse_layer_words(p.at(parameter), models::kDeepest))
    out.insert(layer.number == 0 ? layer.word : layer.word + "(" + std::to_string(layer.number) + ")");
  return out;
}

/// Windows of one width, full layers, and layers without positions may take turns; latent attention is in all.
bool knows_mixers(const Values& p) {
  int windows = 0;
  const std::set<std::string> words = words_of(p, "mixers");
  for (const std::string& word : words)
    if (word.starts_with("window"))
      ++windows;
    else if (word != "full" && word != "nope" && word != "latent")
      return false;
  return windows <= 1 && (!words.contains("latent") || words.size() == 1);
}

bool knows_feed_forwards(const Values& p) {
  const std::set<std::string> words = words_of(p, "feed_forwards");
  return std::ranges::all_of(words,
                             [](const std::string& word) { return word == "dense" || word == "experts"; });
}

bool knows_activation(const Values& p) {
  if (p.at("gated") == "yes") return p.at("activation") == "silu";
  return p.at("activation") == "gelu" || p.at("activation") == "relu2";
}

/// Norms of queries and keys are of the kind of the other norms.
bool knows_key_norm(const Values& p) {
  const std::string &norm = p.at("qk_norm"), &kind = p.at("norm");
  return norm == "no" || norm == "plain" || (norm == "head" && kind == "rms") ||
         (norm == "layer" && kind == "layer");
}

/// Either every matrix has a bias or none has; query, key and value may have one in both cases.
bool knows_biases(const Values& p) {
  const std::string& attention = p.at("attention_bias");
  const std::set<std::string> words = words_of(p, "feed_forwards");
  const bool dense = words.contains("dense") || p.at("shared_width") != "0";
  const auto all_are = [&](const char* value) {
    return (!dense || p.at("feed_forward_bias") == value) &&
           (!words.contains("experts") || p.at("expert_bias") == value);
  };
  if (words_of(p, "mixers").contains("latent"))  // whose only bias is that of its output
    return all_are(attention == "output" ? "yes" : "no");
  return attention == "yes" ? all_are("yes") : attention != "output" && all_are("no");
}

/// Learned positions are of models without rotary ones.
bool knows_positions(const Values& p) {
  const bool learned = p.at("learned_positions") != "0";
  return !learned || words_of(p, "mixers") == std::set<std::string>{"nope"};
}

bool knows_values(const Values& p) {
  return p.at("value_width") == "0" || words_of(p, "mixers").contains("latent");
}

}  // namespace

std::vector<std::string> megatron_unknown_parts(const plan::ModelRef& model) {
  if (model.name != "decoder") return {};
  const Values p = all_parameters(model);
  std::vector<std::string> out;
  const auto name = [&](const char* parameter) { out.push_back(parameter + ("=" + p.at(parameter))); };
  for (const PartLimit& limit : part_limits())
    if (!limit.known.contains(p.at(limit.parameter))) name(limit.parameter);
  if (!knows_mixers(p)) name("mixers");
  if (!knows_feed_forwards(p)) name("feed_forwards");
  if (!knows_activation(p)) out.push_back("activation=" + p.at("activation") + " gated=" + p.at("gated"));
  if (!knows_key_norm(p)) name("qk_norm");
  if (!knows_biases(p))
    out.push_back("attention_bias=" + p.at("attention_bias") +
                  " feed_forward_bias=" + p.at("feed_forward_bias") + " expert_bias=" + p.at("expert_bias"));
  if (!knows_positions(p)) name("learned_positions");
  if (!knows_values(p)) name("value_width");
  return out;
}

}  // namespace penstock::frameworks
