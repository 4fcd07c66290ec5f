#include "decoder_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock::frameworks {
namespace {

using models::LayerWord;

void set_words(DecoderKeys& keys, const char* parameter, const std::vector<LayerWord>& words) {
  keys.set(parameter, models::written(words));
}

/// Layers from one full layer to the next; 0: the key is None, or there is none.
std::int64_t window_period(DecoderKeys& keys, std::string_view key) {
  if (key.empty()) return 0;
  const auto period = keys.count(key);
  if (!period) return 0;
  if (*period < 1) keys.fail(key, "expected a number from 1 on where layer_types is left out");
  return *period;
}

/// Every layer's type: stated, or by the pattern.
std::vector<std::string> layer_types(DecoderKeys& keys, std::string_view pattern,
                                     std::string_view period_key) {
  if (const auto stated = keys.layer_list("layer_types")) {
    keys.pass(period_key);
    return *stated;
  }
  const std::int64_t period = window_period(keys, period_key);
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < keys.layers(); ++i) {
    const bool full =
        period > 0 ? (i + 1) % period == 0 : pattern[static_cast<std::size_t>(i) % pattern.size()] == 'f';
    out.emplace_back(full ? "full_attention" : "sliding_attention");
  }
  return out;
}

LayerWord attention_word(DecoderKeys& keys, const std::string& type, std::string_view full) {
  if (type == "full_attention") return {std::string(full)};
  if (type != "sliding_attention")
    keys.fail("layer_types", fmt::format("'{}' is not computed by the zoo's decoder; known: full_attention, "
                                         "sliding_attention",
                                         type));
  const std::int64_t window = keys.count("sliding_window").value_or(0);
  if (window == 0) return {std::string(full)};
  return {"window", window};
}

}  // namespace

void read_windows(DecoderKeys& keys, std::string_view pattern, std::string_view period_key,
                  std::string_view full) {
  std::vector<LayerWord> words;
  for (const std::string& type : layer_types(keys, pattern, period_key))
    words.push_back(attention_word(keys, type, full));
  keys.pass("sliding_window");
  set_words(keys, "mixers", words);
}

void read_shared_experts(DecoderKeys& keys) {
  for (const char* key : {"n_shared_experts", "num_shared_experts", "moe_num_shared_experts"})
    if (keys.knows(key))
      keys.set("shared_width", keys.count(key).value_or(0) * std::stoll(keys.parameter("expert_width")));
}

void read_some_shared(DecoderKeys& keys) {
  keys.needed("num_shared_experts");
  read_shared_experts(keys);
}

void read_sparse_layers(DecoderKeys& keys) {
  std::vector<LayerWord> words;
  const auto stated = keys.layer_list("mlp_layer_types");
  const std::int64_t dense = keys.count("first_k_dense_replace").value_or(keys.count("@dense").value_or(0));
  for (std::int64_t i = 0; i < keys.layers(); ++i) {
    const std::string type = stated ? (*stated)[static_cast<std::size_t>(i)] : i < dense ? "dense" : "sparse";
    if (type != "dense" && type != "sparse")
      keys.fail("mlp_layer_types", fmt::format("'{}': expected dense or sparse", type));
    words.push_back({type == "dense" ? "dense" : "experts"});
  }
  set_words(keys, "feed_forwards", words);
}

void read_ernie_layers(DecoderKeys& keys) {
  const std::int64_t begin = keys.count("moe_layer_start_index").value_or(0),
                     interval = keys.needed("moe_layer_interval"), layers = keys.layers();
  const auto last = keys.given("moe_layer_end_index");
  const std::int64_t stated = last ? last->integer(-1, 1'000'000) : -1,
                     end = stated == -1 ? layers - 1 : stated;
  std::vector<LayerWord> words;
  for (std::int64_t i = 0; i < layers; ++i)
    words.push_back({(i + 1) % interval == 0 && i >= begin && i <= end ? "experts" : "dense"});
  set_words(keys, "feed_forwards", words);
}

void read_own_head(DecoderKeys& keys) {
  const std::int64_t hidden = keys.needed("hidden_size"), heads = keys.needed("num_attention_heads");
  if (keys.parameter("head_width") != std::to_string(hidden / heads) || hidden % heads != 0)
    keys.fail("head_dim", fmt::format("expected {}, which this architecture always has", hidden / heads));
}

void read_four_times(DecoderKeys& keys) {
  for (const char* key : {"n_inner", "intermediate_size", "ffn_hidden_size"})
    if (keys.knows(key))
      return keys.set("feed_forward", keys.count(key).value_or(4 * keys.needed("hidden_size")));
  keys.set("feed_forward", 4 * keys.needed("hidden_size"));
}

void read_same_experts(DecoderKeys& keys) {
  keys.set("expert_width", keys.needed("intermediate_size"));
}

void read_learned_positions(DecoderKeys& keys) {
  const std::int64_t positions = keys.needed("max_position_embeddings");
  if (keys.tokens() && *keys.tokens() > positions)
    keys.fail("max_position_embeddings",
              fmt::format("the model knows {} positions, fewer than {} tokens", positions, *keys.tokens()));
  keys.set("learned_positions", positions);
}

void read_biogpt_positions(DecoderKeys& keys) {
  read_learned_positions(keys);
  keys.set("learned_positions", keys.needed("max_position_embeddings") + 2);
}

void read_whole_nope(DecoderKeys& keys) {
  const bool windows = keys.count("sliding_window").value_or(0) > 0;
  read_windows(keys, "sssf", "sliding_window_pattern", windows ? "nope" : "full");
}

void read_smollm_layers(DecoderKeys& keys) {
  const auto rotated = keys.layer_list("no_rope_layers");
  const std::int64_t interval = keys.needed("no_rope_layer_interval");
  const bool windows = keys.flag("use_sliding_window") && keys.count("sliding_window").value_or(0) > 0;
  const auto types = keys.layer_list("layer_types");
  std::vector<LayerWord> words;
  for (std::int64_t i = 0; i < keys.layers(); ++i) {
    const bool rotary = rotated ? (*rotated)[static_cast<std::size_t>(i)] != "0" : (i + 1) % interval != 0;
    if (windows || (types && (*types)[static_cast<std::size_t>(i)] != "full_attention"))
      keys.fail(windows ? "use_sliding_window" : "layer_types",
                "a window without rotary positions is not computed by the zoo's decoder");
    words.push_back({rotary ? "full" : "nope"});
  }
  keys.pass("sliding_window");
  set_words(keys, "mixers", words);
}

namespace {

/// Layers with experts of Llama 4: a list of their numbers, or every so many.
std::vector<LayerWord> llama4_experts(DecoderKeys& keys) {
  std::vector<LayerWord> out(static_cast<std::size_t>(keys.layers()), {"dense"});
  if (const auto list = keys.given("moe_layers")) {
    for (const core::Yaml& layer : list->items())
      out[static_cast<std::size_t>(layer.integer(0, keys.layers() - 1))] = {"experts"};
    keys.pass("interleave_moe_layer_step");
    return out;
  }
  const std::int64_t step = keys.needed("interleave_moe_layer_step");
  for (std::int64_t i = step - 1; i < keys.layers(); i += step)
    out[static_cast<std::size_t>(i)] = {"experts"};
  return out;
}

}  // namespace

void read_llama4_layers(DecoderKeys& keys) {
  const auto list = keys.given("no_rope_layers");
  const auto rotated = list && !list->items().empty() ? keys.layer_list("no_rope_layers") : std::nullopt;
  const std::int64_t interval = keys.needed("no_rope_layer_interval"),
                     chunk = keys.count("attention_chunk_size").value_or(0);
  const auto types = keys.layer_list("layer_types");
  std::vector<LayerWord> words;
  for (std::int64_t i = 0; i < keys.layers(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool rotary = rotated ? (*rotated)[at] != "0" : (i + 1) % interval != 0;
    const bool chunked = types ? (*types)[at] == "chunked_attention" : rotary && chunk > 0;
    if (chunked != (rotary && chunk > 0))
      keys.fail("layer_types", "expected chunked_attention in layers with rotary positions and in no others");
    words.push_back(chunked ? LayerWord{"blocks", chunk} : LayerWord{rotary ? "full" : "nope"});
  }
  set_words(keys, "mixers", words);
  keys.set("expert_width", keys.needed("intermediate_size"));
  keys.set("shared_width", keys.needed("intermediate_size"));
  keys.set("feed_forward", keys.needed("intermediate_size_mlp"));
  set_words(keys, "feed_forwards", llama4_experts(keys));
}

void read_mimo_layers(DecoderKeys& keys) {
  std::vector<LayerWord> words;
  const auto types = keys.layer_list("layer_types");
  for (std::int64_t i = 0; i < keys.layers(); ++i) {
    const std::string type = types                        ? (*types)[static_cast<std::size_t>(i)]
                             : i == 0 || (i + 1) % 6 == 0 ? "full_attention"
                                                          : "sliding_attention";
    words.push_back(attention_word(keys, type, "full"));
  }
  set_words(keys, "mixers", words);
  keys.set("window_kv_heads", 2 * keys.needed("num_key_value_heads"));
  if (keys.needed("num_attention_heads") % (2 * keys.needed("num_key_value_heads")) != 0)
    keys.fail("num_key_value_heads", "twice as many do not divide num_attention_heads, as windows need");
}

void read_dots_layers(DecoderKeys& keys) {
  const auto types = keys.layer_list("layer_types");
  const std::int64_t first = keys.count("max_window_layers").value_or(keys.layers());
  std::vector<LayerWord> words;
  for (std::int64_t i = 0; i < keys.layers(); ++i)
    words.push_back(attention_word(keys,
                                   types        ? (*types)[static_cast<std::size_t>(i)]
                                   : i >= first ? "sliding_attention"
                                                : "full_attention",
                                   "full"));
  keys.pass("sliding_window");
  set_words(keys, "mixers", words);
}

void read_neo_layers(DecoderKeys& keys) {
  const std::int64_t window = keys.needed("window_size");
  std::vector<std::string> kinds;
  if (const auto types = keys.given("attention_types"))
    for (const core::Yaml& item : types->items()) {
      const auto parts = item.items();
      if (parts.size() != 2) item.fail("expected a list of kinds and a count");
      for (std::int64_t i = parts[1].integer(1, 1000); i > 0; --i)
        for (const core::Yaml& kind : parts[0].items()) kinds.push_back(kind.text());
    }
  else
    for (int i = 0; i < 12; ++i) kinds.insert(kinds.end(), {"global", "local"});
  keys.pass("attention_layers");
  if (std::ssize(kinds) != keys.layers())
    keys.fail("attention_types", fmt::format("expected {} layers, not {}", keys.layers(), kinds.size()));
  std::vector<LayerWord> words;
  for (const std::string& kind : kinds) {
    if (kind != "global" && kind != "local")
      keys.fail("attention_types", "expected global or local, not " + kind);
    words.push_back(kind == "local" ? LayerWord{"window", window} : LayerWord{"nope"});
  }
  set_words(keys, "mixers", words);
}

void read_falcon(DecoderKeys& keys) {
  const std::int64_t heads = keys.needed("num_attention_heads");
  const bool fresh = keys.flag("new_decoder_architecture"), parallel = keys.flag("parallel_attn");
  if (keys.flag("alibi")) keys.set("mixers", "nope");
  keys.set("kv_heads", fresh                      ? keys.count("num_kv_heads").value_or(heads)
                       : keys.flag("multi_query") ? 1
                                                  : heads);
  keys.pass("num_kv_heads multi_query");
  const std::int64_t norms = keys.count("num_ln_in_parallel_attn").value_or(2);
  if (!fresh && keys.count("num_ln_in_parallel_attn").value_or(1) == 2 && parallel)
    keys.fail("num_ln_in_parallel_attn", "expected null or 1 without new_decoder_architecture");
  keys.set("branches", fresh      ? (norms == 2 ? "side_by_side" : "shared_norm")
                       : parallel ? "shared_norm"
                                  : "in_turn");
  if (keys.flag("bias")) keys.set("attention_bias", "yes"), keys.set("feed_forward_bias", "yes");
}

void read_seed_bias(DecoderKeys& keys) {
  const bool inner = keys.flag("attention_bias"), output = keys.flag("attention_out_bias");
  keys.set("attention_bias", inner ? (output ? "yes" : "qkv") : output ? "output" : "no");
}

void read_cohere_norm(DecoderKeys& keys) {
  if (keys.value("rms_norm_eps")) keys.set("norm", "rms");
}

void read_mpt(DecoderKeys& keys) {
  keys.set("feed_forward", keys.count("expansion_ratio").value_or(4) * keys.needed("hidden_size"));
  const auto attention = keys.given("attn_config");
  if (!attention) return;
  for (const char* key : {"clip_qkv", "qk_ln", "prefix_lm"})
    if (const auto value = attention->find(key); value && value->is_scalar() && value->scalar() != "false" &&
                                                 value->scalar() != "null" && value->scalar() != "~")
      value->fail("is not computed by the zoo's decoder");
}

void read_multi_query(DecoderKeys& keys) {
  keys.set("kv_heads", keys.flag("multi_query") ? 1 : keys.needed("num_attention_heads"));
}

}  // namespace penstock::frameworks
