// A decoder of Megatron-LM that mixes parts of several families. Arguments are those of
// megatron/training/arguments.py and megatron/core/transformer/transformer_config.py (0.19).
#include <fmt/format.h>

#include <algorithm>

#include "layer_list.hpp"
#include "megatron_parts.hpp"

namespace penstock::frameworks {
namespace {

using Values = std::map<std::string, std::string>;

enum class Positions : std::uint8_t { table, rotary, none };

/// --no-position-embedding takes GPT's table away, and changes nothing beside rotary positions.
Positions positions(MegatronArguments& args) {
  const std::string usual = args.flag("use_rotary_position_embeddings") ? "rope" : "learned_absolute";
  const std::string type = args.word("position_embedding_type", {"learned_absolute", "rope", "none"}, usual);
  const bool without = args.has("add_position_embedding") && !args.flag("add_position_embedding"),
             removed = args.flag("no_position_embedding");
  if (type == "rope") return Positions::rotary;
  return type == "none" || without || removed ? Positions::none : Positions::table;
}

bool has_rms_norms(MegatronArguments& args) {
  return args.word("normalization", {"LayerNorm", "RMSNorm"}, "LayerNorm") == "RMSNorm";
}

/// True of a switch or value that only a described decoder has.
bool has_rare_parts(MegatronArguments& args) {
  const bool listed =
      std::ranges::any_of(std::initializer_list<const char*>{"window_size", "no_rope_freq"},
                          [&](const char* name) { return args.has(name) && !args.nothing(name); });
  return listed || args.flag("squared_relu") || args.flag("qk_l2_norm") ||
         args.word("softmax_type", {"vanilla", "learnable"}, "vanilla") != "vanilla";
}

/// Layers with and without experts in another order than deepseek_v3's.
bool mixes_layers(MegatronArguments& args) {
  const auto kinds = expert_layers(args);
  return !std::ranges::is_sorted(kinds) || kinds.back() == 0;
}

bool fits_gpt(MegatronArguments& args) {
  const std::int64_t heads = args.count("num_attention_heads"),
                     head = std::max<std::int64_t>(1, args.count("hidden_size") / heads);
  const bool usual_heads = kv_heads(args) == heads && args.count("kv_channels", head) == head;
  if (args.flag("multi_latent_attention") || args.flag("qk_layernorm") || !usual_heads) return false;
  if (!has_experts(args)) return true;
  return std::ranges::count(expert_layers(args), 0) == 0 && !args.has("n_shared_experts") &&
         args.text("moe_shared_expert_intermediate_size", "0") == "0";
}

bool fits_llama(MegatronArguments& args) {
  const bool latent = args.flag("multi_latent_attention"), experts = has_experts(args);
  if (has_biases(args) || (latent && !experts)) return false;
  return !experts || (!mixes_layers(args) && (latent || std::ranges::count(expert_layers(args), 0) == 0));
}

/// Reads one of 0 and 1 for each layer, or a number N: every N-th layer has `at_step`, all others its opposite.
std::vector<std::int64_t> layer_switches(MegatronArguments& args, const char* name, std::int64_t layers,
                                         std::int64_t at_step) {
  const std::string text = args.text(name, "");
  std::vector<std::int64_t> out;
  if (!text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
    const std::int64_t step = args.count(name);
    for (std::int64_t i = 0; i < layers; ++i) out.push_back((i + 1) % step == 0 ? at_step : 1 - at_step);
    return out;
  }
  try {
    out = parse_layer_list(text);
  } catch (const core::BadInput& e) {
    args.fail(name, e.what());
  }
  if (std::ssize(out) != layers)
    args.fail(name, fmt::format("'{}' has {} layers, the model {}", text, out.size(), layers));
  return out;
}

/// Tokens that a window leaves, of "(N,0)": N tokens before the token, none after it.
std::int64_t window_reach(MegatronArguments& args) {
  std::string text = args.text("window_size", "");
  std::erase_if(text, [](char c) { return c == '(' || c == ')' || c == '[' || c == ']' || c == ' '; });
  const auto comma = text.find(',');
  const std::string before = text.substr(0, comma), after = comma == text.npos ? "" : text.substr(comma + 1);
  const bool number = !before.empty() && before.size() < 8 &&
                      std::ranges::all_of(before, [](char c) { return c >= '0' && c <= '9'; });
  if (!number || after != "0")
    args.fail("window_size", "expected (N,0): N tokens before each token and none after it");
  return std::stoll(before) + 1;
}

/// [layer] attention in the words of the zoo.
std::vector<std::string> mixers(MegatronArguments& args, std::int64_t layers) {
  const bool rotary = positions(args) == Positions::rotary;
  std::vector<std::string> out(static_cast<std::size_t>(layers), rotary ? "full" : "nope");
  if (args.has("no_rope_freq") && !args.nothing("no_rope_freq")) {
    const auto without = layer_switches(args, "no_rope_freq", layers, 1);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (without[i] != 0) out[i] = "nope";
  }
  if (!args.has("window_size") || args.nothing("window_size")) return out;
  std::vector<std::int64_t> windows(out.size(), 1);
  if (args.has("window_attn_skip_freq") && !args.nothing("window_attn_skip_freq"))
    windows = layer_switches(args, "window_attn_skip_freq", layers, 0);
  const std::string window = fmt::format("window({})", window_reach(args));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (windows[i] == 0) continue;
    if (out[i] == "nope") args.fail("window_size", fmt::format("layer {} has no rotary positions", i));
    out[i] = window;
  }
  return out;
}

/// Norms of queries and keys are of the kind of the others.
std::string key_norm(MegatronArguments& args) {
  if (args.flag("qk_l2_norm")) return "plain";
  if (!args.flag("qk_layernorm")) return "no";
  return has_rms_norms(args) ? "head" : "layer";
}

/// A pattern names one kind of attention, of all its layers.
void refuse_beside_pattern(MegatronArguments& args) {
  if (args.flag("multi_latent_attention"))
    args.fail("multi_latent_attention", "latent attention in a pattern of layers: no plan states this");
  for (const char* name : {"window_size", "no_rope_freq"})
    if (args.has(name) && !args.nothing(name))
      args.fail(name, "does not go with a pattern of layers: no plan states this");
}

void read_attention(MegatronArguments& args, Values& out) {
  if (is_hybrid(args)) refuse_beside_pattern(args);
  const std::int64_t layers = layer_count(args), heads = args.count("num_attention_heads");
  if (args.flag("multi_latent_attention")) {
    out["mixers"] = "latent";
    out["kv_heads"] = std::to_string(heads);
    read_latent(args, out);
    out["attention_bias"] = has_biases(args) ? "output" : "no";
    return;
  }
  if (is_hybrid(args))
    read_hybrid(args, positions(args) == Positions::rotary ? "full" : "nope", out);
  else
    out["mixers"] = counted_words(mixers(args, layers));
  out["kv_heads"] = std::to_string(kv_heads(args));
  out["head_width"] =
      std::to_string(args.count("kv_channels", std::max<std::int64_t>(1, args.count("hidden_size") / heads)));
  out["attention_bias"] = has_biases(args) ? "yes" : args.flag("add_qkv_bias") ? "qkv" : "no";
  out["qk_norm"] = key_norm(args);
  out["sinks"] = args.word("softmax_type", {"vanilla", "learnable"}, "vanilla") == "learnable" ? "yes" : "no";
}

void read_feed_forwards(MegatronArguments& args, Values& out) {
  const bool gated = is_gated(args);
  if (gated && args.flag("squared_relu")) args.fail("squared_relu", "has no gate, and swiglu is one");
  const std::int64_t width =
      gated ? gated_width(args) : args.count("ffn_hidden_size", 4 * args.count("hidden_size"));
  out["feed_forward"] = std::to_string(width);
  out["gated"] = gated ? "yes" : "no";
  out["activation"] = gated ? "silu" : args.flag("squared_relu") ? "relu2" : "gelu";
  out["feed_forward_bias"] = has_biases(args) ? "yes" : "no";
  if (!is_hybrid(args)) out["feed_forwards"] = "dense";
  if (!has_experts(args)) return;
  if (!is_hybrid(args)) {
    std::vector<std::string> words;
    for (const std::int64_t kind : expert_layers(args)) words.emplace_back(kind == 0 ? "dense" : "experts");
    out["feed_forwards"] = counted_words(words);
  }
  out["expert_bias"] = out["feed_forward_bias"];
  out["scores"] = args.word("moe_router_score_function", {"softmax", "sigmoid"}, "softmax");
  read_experts(args, out, width);
  if (args.flag("moe_shared_expert_gate")) out["shared_gate"] = "yes";
}

}  // namespace

std::string counted_words(const std::vector<std::string>& words) {
  if (std::ranges::count(words, words.front()) == std::ssize(words)) return words.front();
  std::string out;
  for (auto at = words.begin(); at != words.end();) {
    const auto end = std::find_if(at, words.end(), [&](const std::string& word) { return word != *at; });
    out +=
        fmt::format("{}{}{}", out.empty() ? "" : "+", *at, end - at == 1 ? "" : fmt::format("*{}", end - at));
    at = end;
  }
  return out;
}

bool is_described(MegatronArguments& args) {
  if (is_hybrid(args) || has_rare_parts(args)) return true;
  const Positions known = positions(args);
  if (has_rms_norms(args)) return known != Positions::rotary || !is_gated(args) || !fits_llama(args);
  return known != Positions::table || !fits_gpt(args);
}

void read_described(MegatronArguments& args, Values& out) {
  out["norm"] = has_rms_norms(args) ? "rms" : "layer";
  out["norms"] = "before";
  out["dropout"] = has_dropout(args) ? "yes" : "no";
  if (positions(args) == Positions::table)
    out["learned_positions"] = std::to_string(args.count("max_position_embeddings"));
  read_attention(args, out);
  read_feed_forwards(args, out);
}

}  // namespace penstock::frameworks
