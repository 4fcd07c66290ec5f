// Diffusion Transformer: patches of a noisy latent image through layers that time step and class modulate
// (adaLN-Zero).

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {
namespace {

constexpr std::int64_t kFrequencies = 256;  // that encode a time step

/// The time step through two dense layers, plus a row of a table for the class; an additional row is for no
/// class. GELU replaces SiLU and moves as many bytes.
Tensor condition(Layers& net, std::int64_t hidden, std::int64_t classes) {
  const Tensor step = net.input("time.input", {1, kFrequencies});
  const Tensor first = net.linear("time.dense1", step, hidden, {.bias = true});
  const Tensor time = net.linear("time.dense2", net.activation("time.activation", first, Activation::gelu),
                                 hidden, {.bias = true});
  const Tensor which = net.embedding("class.embedding", net.indices("class.input", 1), {classes + 1, hidden});
  return net.activation("condition.activation", net.add("condition", {time, which}), Activation::gelu);
}

/// Patches, and positions that are computed once and do not train.
Tensor embed(Layers& net, std::int64_t size, std::int64_t channels, std::int64_t patch, std::int64_t hidden) {
  const Tensor image = net.input("latent.input", {channels, size, size});
  const Tensor grid = net.conv2d("patch.embedding", image, hidden, {{patch, patch}, {patch, patch}}, true);
  const std::int64_t tokens = grid.shape[1] * grid.shape[2];
  const Tensor rows = net.view("patch.rows", grid, {tokens, hidden});
  net.freeze(true);
  const Tensor places =
      net.embedding("position.embedding", net.indices("position.input", tokens), {tokens, hidden});
  net.freeze(false);
  return net.add("embedding.sum", {rows, places});
}

/// Attention and feed-forward, each between a shift and scale of its input and a gate of its output, all six
/// made from the condition.
Tensor layer(Layers& net, const std::string& name, const Tensor& x, const Tensor& condition,
             std::int64_t heads, std::int64_t width) {
  const Tensor by = net.linear(name + ".modulation", condition, 6 * x.width(), {.bias = true});
  const Tensor first = net.modulate(name + ".scale1", net.plain_norm(name + ".norm1", x), by);
  const Tensor attended = self_attention(net, name + ".attention", first, heads, "flash");
  const Tensor middle = net.add(name + ".add1", {x, net.modulate(name + ".gate1", attended, by)});
  const Tensor second = net.modulate(name + ".scale2", net.plain_norm(name + ".norm2", middle), by);
  const Tensor fed = feed_forward(net, name, second, width, Activation::gelu);
  return net.add(name + ".add2", {middle, net.modulate(name + ".gate2", fed, by)});
}

graph::OpGraph build_dit(const Parameters& p) {
  const std::int64_t size = p.integer("latent", 1, 4096), patch = p.integer("patch", 1, 4096),
                     channels = p.integer("channels", 1, 4096), hidden = p.integer("hidden", 1, kWidest),
                     heads = p.heads("heads", hidden), layers = p.integer("layers", 1, kDeepest);
  if (patch > size) p.fail("patch", "at most the latent's size " + std::to_string(size));
  if (size / patch > 256) p.fail("patch", "at most 256 x 256 patches");
  Layers net(p.model(), p.element_bytes());
  const Tensor by = condition(net, hidden, p.integer("classes", 1, 10 * kWidest));
  Tensor x = embed(net, size, channels, patch, hidden);
  for (std::int64_t i = 0; i < layers; ++i)
    x = layer(net, "layer" + std::to_string(i), x, by, heads, 4 * hidden);
  const Tensor last = net.linear("final.modulation", by, 2 * hidden, {.bias = true});
  x = net.modulate("final.scale", net.plain_norm("final.norm", x), last);
  net.linear("final.head", x, patch * patch * 2 * channels, {.bias = true});
  return net.build();
}

SizeInfo dit_size(const std::string& name, const std::string& layers, const std::string& hidden,
                  const std::string& heads) {
  return {name, {{"layers", layers}, {"hidden", hidden}, {"heads", heads}}};
}

}  // namespace

// The defaults are DiT-XL/2's on 256 x 256 images: 675,129,632 parameters, of which 294,912 are its positions
// and do not train.
ModelInfo dit() {
  return {"dit",
          "diffusion Transformer over latent patches, modulated by time step and class",
          "Peebles and Xie, Scalable Diffusion Models with Transformers, ICCV 2023, table 1",
          {{"latent", "32", "height and width of the latent image"},
           {"channels", "4", "of the latent image"},
           {"patch", "2", "height and width of a patch"},
           {"layers", "28", "Transformer layers"},
           {"hidden", "1152", "width of a token"},
           {"heads", "16", "attention heads; divides hidden"},
           {"classes", "1000", "classes told apart"}},
          build_dit,
          {dit_size("dit-s", "12", "384", "6"), dit_size("dit-b", "12", "768", "12"),
           dit_size("dit-l", "24", "1024", "16"), dit_size("dit-xl", "28", "1152", "16")}};
}

}  // namespace penstock::models
