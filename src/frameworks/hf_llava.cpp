// LLaVA-1.5's kind of config: CLIP's tower and a decoder, in a mapping each, and the projector between them.

#include <fmt/format.h>

#include "hf_architectures.hpp"

namespace penstock::frameworks {
namespace {

constexpr std::string_view kTower = "clip_vision_model";

/// Defaults of transformers' configuration classes for keys left out. Such configs leave most of them out.
struct DecoderDefaults {
  std::int64_t feed_forward, kv_heads, positions, window;  ///< kv_heads 0: as many as heads; window 0: none
};

constexpr DecoderDefaults kLlama{11'008, 0, 2048, 0}, kMistral{14'336, 8, 131'072, 4096};

std::int64_t set(ConfigKeys& keys, Parameters& out, const char* parameter, std::string_view key,
                 std::int64_t otherwise) {
  const std::int64_t count = keys.count(key, otherwise);
  out[parameter] = std::to_string(count);
  return count;
}

/// Returns the tokens that an image becomes: one per patch, without the class token.
std::int64_t read_tower(const core::Yaml& config, Parameters& out) {
  ConfigKeys keys(config);
  if (keys.text("model_type", std::string(kTower)) != kTower)
    keys.fail("model_type", fmt::format("expected {}: the zoo's tower is CLIP's, with a class token and a "
                                        "norm before its first layer",
                                        kTower));
  keys.demand("hidden_act", kGelu, "quick_gelu");
  keys.pass({"projection_dim", "vocab_size"});  // of CLIP as a whole
  if (keys.count("num_channels", 3) != 3) keys.fail("num_channels", "expected 3, as the zoo's images");
  set(keys, out, "vision_hidden", "hidden_size", 768);
  set(keys, out, "vision_layers", "num_hidden_layers", 12);
  set(keys, out, "vision_heads", "num_attention_heads", 12);
  set(keys, out, "vision_feed_forward", "intermediate_size", 3072);
  const std::int64_t side =
      set(keys, out, "resolution", "image_size", 224) / set(keys, out, "patch", "patch_size", 32);
  keys.refuse_others(std::string(kTower));
  return side * side;
}

/// The window of attention that a config has; 0: none. One left out is the default, one that is null is none.
std::int64_t window_of(const core::Yaml& config, ConfigKeys& keys, std::int64_t otherwise) {
  if (otherwise == 0 || !config.find("sliding_window")) return otherwise;
  return keys.find("sliding_window") ? keys.count("sliding_window") : 0;
}

void read_sizes(ConfigKeys& keys, const DecoderDefaults& usual, Parameters& out) {
  set(keys, out, "vocabulary", "vocab_size", 32'000);
  set(keys, out, "layers", "num_hidden_layers", 32);
  set(keys, out, "feed_forward", "intermediate_size", usual.feed_forward);
  const std::int64_t hidden = set(keys, out, "hidden", "hidden_size", 4096);
  const std::int64_t heads = set(keys, out, "heads", "num_attention_heads", 32);
  set(keys, out, "kv_heads", "num_key_value_heads", usual.kv_heads > 0 ? usual.kv_heads : heads);
  if (keys.count("head_dim", hidden / heads > 0 ? hidden / heads : 1) != hidden / heads)
    keys.fail("head_dim", fmt::format("expected {}: heads of the zoo's vlm fill its width", hidden / heads));
}

/// Returns the tokens of a sample.
std::int64_t read_text(const core::Yaml& config, std::optional<std::int64_t> asked, Parameters& out) {
  ConfigKeys keys(config);
  keys.demand("model_type", {"llama", "mistral"}, "llama");
  const std::string type = keys.text("model_type", "llama");
  const DecoderDefaults& usual = type == "llama" ? kLlama : kMistral;
  keys.demand("hidden_act", {"silu", "swish"}, "silu");
  keys.demand("tie_word_embeddings", false, false, "the head of the zoo's vlm has weights of its own");
  if (type == "llama") {
    keys.demand("attention_bias", false, false, "the zoo's attention has no bias at its output");
    keys.demand("mlp_bias", false, false, "the zoo's feed-forward has no biases");
  }
  read_sizes(keys, usual, out);
  const std::int64_t positions = keys.count("max_position_embeddings", usual.positions);
  const std::int64_t tokens = asked.value_or(positions), window = window_of(config, keys, usual.window);
  if (window > 0 && window < tokens)
    keys.fail(
        "sliding_window",
        fmt::format("attention sees {} tokens of {}, where the zoo's sees all: take samples of {} tokens "
                    "or fewer (--tokens {}; of --model, -p sequence={})",
                    window, tokens, window, window, window));
  keys.refuse_others(type);
  return tokens;
}

/// Two dense layers with biases, over all patches of one layer of the tower.
void demand_projector(ConfigKeys& keys, std::int64_t patches) {
  keys.demand("projector_hidden_act", kGelu, "gelu");
  keys.demand("multimodal_projector_bias", true, true, "the zoo's projector has biases");
  keys.demand("vision_feature_select_strategy", {"default"}, "default");
  if (const auto layer = keys.find("vision_feature_layer"); layer && layer->is_list())
    layer->fail("expected -1 or -2: the zoo's projector reads one layer");
  else if (layer && layer->integer(-1000, 1000) != -1 && layer->integer(-1000, 1000) != -2)
    layer->fail("expected -1 or -2: the zoo's tower runs to its end");
  if (keys.count("image_seq_length", patches) != patches)
    keys.fail("image_seq_length", fmt::format("expected {}, a token for each patch of an image", patches));
}

}  // namespace

void read_llava(ConfigKeys& keys, std::optional<std::int64_t> tokens, Parameters& out) {
  keys.pass({"ignore_index", "image_token_index", "image_token_id"});
  keys.pass({"vocab_size", "hidden_size"});  // as text_config has them, which counts
  keys.demand("tie_word_embeddings", false, false, "the head of the zoo's vlm has weights of its own");
  const std::int64_t patches = read_tower(keys.at("vision_config"), out);
  const std::int64_t all = read_text(keys.at("text_config"), tokens, out);
  demand_projector(keys, patches);
  if (all <= patches)
    keys.fail("vision_config",
              fmt::format("an image becomes {} tokens: of {}, none is left for text", patches, all));
  out["text"] = std::to_string(all - patches);
}

}  // namespace penstock::frameworks
