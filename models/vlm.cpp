// Language models with image and sound input. They have an encoder of image patches, an optional one of
// sound, projectors to the language model's width, and Llama's decoder over all tokens in a row.

#include "models/blocks.hpp"
#include "models/decoder.hpp"
#include "models/families.hpp"

namespace penstock::models {
namespace {

struct Encoder {
  std::int64_t layers, hidden, heads, feed_forward;
};

Encoder read_encoder(const Parameters& p, const std::string& prefix, std::int64_t fewest) {
  Encoder out{p.integer(prefix + "layers", fewest, kDeepest), p.integer(prefix + "hidden", 1, kWidest), 0,
              p.integer(prefix + "feed_forward", 0, 4 * kWidest)};
  out.heads = p.heads(prefix + "heads", out.hidden);
  if (out.feed_forward == 0) out.feed_forward = 4 * out.hidden;
  return out;
}

Tensor encode(Layers& net, const std::string& name, Tensor x, const Encoder& sizes) {
  for (std::int64_t i = 0; i < sizes.layers; ++i)
    x = pre_norm_layer(net, name + ".layer" + std::to_string(i), x,
                       {sizes.heads, sizes.feed_forward, "flash", Activation::gelu});
  return net.layer_norm(name + ".norm", x);
}

Tensor with_positions(Layers& net, const std::string& name, const Tensor& x) {
  const Tensor places = net.embedding(name + ".positions", net.indices(name + ".position.input", x.rows()),
                                      {x.rows(), x.width()});
  return net.add(name + ".sum", {x, places});
}

/// CLIP's tower: patches, a class token after them so that a view can leave it out, positions, a norm before
/// the first layer.
Tensor vision_tower(Layers& net, const Parameters& p) {
  const Encoder sizes = read_encoder(p, "vision_", 1);
  const std::int64_t resolution = p.integer("resolution", 1, 4096), patch = p.integer("patch", 1, 4096);
  if (patch > resolution) p.fail("patch", "at most the resolution " + std::to_string(resolution));
  if (resolution / patch > 256) p.fail("patch", "at most 256 x 256 patches");
  const Tensor image = net.input("vision.input", {3, resolution, resolution});
  const Tensor grid = net.conv2d("vision.patches", image, sizes.hidden, {{patch, patch}, {patch, patch}});
  const std::int64_t patches = grid.shape[1] * grid.shape[2];
  const Tensor rows = net.view("vision.rows", grid, {patches, sizes.hidden});
  const Tensor token = net.embedding("vision.class", net.indices("vision.class.input", 1), {1, sizes.hidden});
  const Tensor placed = with_positions(net, "vision", net.concat("vision.tokens", {rows, token}, 0));
  const Tensor out = encode(net, "vision", net.layer_norm("vision.norm0", placed), sizes);
  return net.view("vision.features", out, {patches, sizes.hidden});
}

struct Audio {
  Encoder sizes;
  std::int64_t frames, merge;
};

/// Whisper's encoder: 80 bands of a spectrogram through two convolutions, of which the second halves the
/// frames.
Tensor audio_tower(Layers& net, const Audio& audio) {
  constexpr std::int64_t kBands = 80;
  const std::int64_t hidden = audio.sizes.hidden;
  const Tensor sound = net.input("audio.input", {kBands, 1, audio.frames});
  const auto convolution = [&](const std::string& name, const Tensor& x, std::int64_t stride) {
    const Tensor wide = net.conv2d(name, x, hidden, {{1, 3}, {1, stride}, {0, 1}}, true);
    return net.activation(name + ".activation", wide, Activation::gelu);
  };
  const Tensor halved = convolution("audio.conv2", convolution("audio.conv1", sound, 1), 2);
  const Tensor rows = net.view("audio.rows", halved, {halved.shape[2], hidden});
  return encode(net, "audio", with_positions(net, "audio", rows), audio.sizes);
}

/// `merge` neighbouring rows become one, then two dense layers with GELU between (LLaVA-1.5's).
Tensor project(Layers& net, const std::string& name, const Tensor& x, std::int64_t merge,
               std::int64_t width) {
  const std::int64_t rows = x.rows() / merge;
  const Tensor merged = merge == 1 ? x : net.view(name + ".merged", x, {rows, merge * x.width()});
  const Tensor wide = net.linear(name + ".dense1", merged, width, {.bias = true});
  return net.linear(name + ".dense2", net.activation(name + ".activation", wide, Activation::gelu), width,
                    {.bias = true});
}

/// Llama's layers and head.
Tensor decode(Layers& net, const Parameters& p, Tensor x, std::int64_t vocabulary) {
  HeadAttention attention{p.heads("heads", x.width()),
                          {.core = AttentionCore::flash, .rotary = true, .mask = AttentionMask::causal}};
  attention.form.kv_heads = p.integer("kv_heads", 1, attention.heads);
  if (attention.heads % attention.form.kv_heads != 0) p.fail("kv_heads", "a divisor of the heads");
  const DecoderLayer layer{.mixer = attention,
                           .feed_forward = DenseForm{p.integer("feed_forward", 1, kWidest)}};
  const std::int64_t layers = p.integer("layers", 1, kDeepest);
  for (std::int64_t i = 0; i < layers; ++i) x = decoder_layer(net, "layer" + std::to_string(i), x, layer);
  return net.linear("head", net.rms_norm("norm", x), vocabulary);
}

graph::OpGraph build_vlm(const Parameters& p) {
  const std::int64_t vocabulary = p.integer("vocabulary", 1, 10 * kWidest),
                     hidden = p.integer("hidden", 1, kWidest), text = p.integer("text", 1, 16 * kWidest),
                     merge = p.integer("merge", 1, kWidest);
  const Audio audio{read_encoder(p, "audio_", 0), p.integer("audio_frames", 2, kWidest),
                    p.integer("audio_merge", 1, kWidest)};
  const std::string frozen = p.word("frozen", {"nothing", "towers", "all_but_projectors"});
  Layers net(p.model(), p.element_bytes());
  std::vector<Tensor> tokens;
  const auto add = [&](const std::string& name, const std::string& merging, std::int64_t merged, auto tower) {
    net.freeze(frozen != "nothing");
    const Tensor features = tower();
    net.freeze(false);
    if (features.rows() % merged != 0)
      p.fail(merging, "a divisor of the tower's " + std::to_string(features.rows()) + " tokens");
    tokens.push_back(project(net, name, features, merged, hidden));
  };
  add("projector", "merge", merge, [&] { return vision_tower(net, p); });
  if (audio.sizes.layers > 0)
    add("audio_projector", "audio_merge", audio.merge, [&] { return audio_tower(net, audio); });
  net.freeze(frozen == "all_but_projectors");
  tokens.push_back(net.embedding("token.embedding", net.indices("token.input", text), {vocabulary, hidden}));
  const Tensor x = decode(net, p, net.concat("tokens", tokens, 0), vocabulary);
  add_loss(net, p, "loss", x);
  return net.build();
}

}  // namespace

// The defaults are those of LLaVA-1.5 7B, which has 7,063,427,072 parameters. CLIP's last layer, which LLaVA
// leaves out, runs here.
ModelInfo vlm() {
  return {
      "vlm",
      "vision tower, audio tower where asked for, projectors and Llama's decoder; frozen in parts or not",
      "Liu et al., Improved Baselines with Visual Instruction Tuning, CVPR 2024 (LLaVA-1.5); Radford et al., "
      "CLIP, 2021 and Whisper, 2023; frozen parts as in Jang et al., Cornstarch, 2025",
      {{"resolution", "336", "height and width of an image"},
       {"patch", "14", "height and width of a patch"},
       {"vision_layers", "24", "layers of the vision tower"},
       {"vision_hidden", "1024", "width of its tokens"},
       {"vision_heads", "16", "its attention heads; divides vision_hidden"},
       {"vision_feed_forward", "0", "width between a layer's dense layers; 0: four times vision_hidden"},
       {"merge", "1", "patches that one token of the language model stands for"},
       {"audio_layers", "0", "layers of the audio tower; 0: there is none"},
       {"audio_hidden", "1280", "width of its tokens"},
       {"audio_heads", "20", "its attention heads; divides audio_hidden"},
       {"audio_feed_forward", "0", "width between a layer's dense layers; 0: four times audio_hidden"},
       {"audio_frames", "3000", "frames of the spectrogram; the tower makes half as many tokens"},
       {"audio_merge", "2", "tokens of the tower that one token of the language model stands for"},
       {"text", "1472", "tokens of text, beside those of image and sound"},
       {"vocabulary", "32064", "tokens known"},
       {"layers", "32", "decoder layers"},
       {"hidden", "4096", "width of a token"},
       {"heads", "32", "attention heads; divides hidden"},
       {"kv_heads", "32", "heads of keys and values, shared by groups of heads; divides heads"},
       {"feed_forward", "11008", "width of gate and up projection, each"},
       {"frozen", "nothing",
        "what does not train: nothing, towers, or all_but_projectors (LLaVA's first stage)"},
       loss_parameter()},
      build_vlm};
}

}  // namespace penstock::models
