// Vision Transformer: patches and a class token through an encoder; its first token is classified. No
// dropout.

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {
namespace {

/// One convolution as wide as its stride, a class token before the patches, and learned positions. The class
/// token is the one row of a table, as a tensor of parameters is read.
Tensor embed_image(Layers& net, std::int64_t resolution, std::int64_t patch, std::int64_t hidden) {
  const Tensor image = net.input("image.input", {3, resolution, resolution});
  const Tensor grid = net.conv2d("patch.embedding", image, hidden, {{patch, patch}, {patch, patch}}, true);
  const std::int64_t patches = grid.shape[1] * grid.shape[2];
  const Tensor rows = net.view("patch.rows", grid, {patches, hidden});
  const Tensor first = net.embedding("class.embedding", net.indices("class.input", 1), {1, hidden});
  const Tensor tokens = net.concat("embedding.tokens", {first, rows}, 0);
  const Tensor places =
      net.embedding("position.embedding", net.indices("position.input", patches + 1), {patches + 1, hidden});
  return net.add("embedding.sum", {tokens, places});
}

graph::OpGraph build_vit(const Parameters& p) {
  const std::int64_t resolution = p.integer("resolution", 1, 4096), patch = p.integer("patch", 1, 4096),
                     hidden = p.integer("hidden", 1, kWidest), heads = p.heads("heads", hidden),
                     given = p.integer("feed_forward", 0, 4 * kWidest),
                     width = given > 0 ? given : 4 * hidden;
  if (patch > resolution) p.fail("patch", "at most the resolution " + std::to_string(resolution));
  if (resolution / patch > 256) p.fail("patch", "at most 256 x 256 patches");
  const std::string attention = read_attention(p);
  Layers net(p.model(), p.element_bytes());
  Tensor x = embed_image(net, resolution, patch, hidden);
  const std::int64_t layers = p.integer("layers", 1, kDeepest);
  for (std::int64_t i = 0; i < layers; ++i)
    x = pre_norm_layer(net, "layer" + std::to_string(i), x, {heads, width, attention, Activation::gelu});
  x = net.view("class.token", net.layer_norm("norm", x), {hidden});
  net.linear("head", x, p.integer("classes", 1, 10 * kWidest), {.bias = true});
  return net.build();
}

SizeInfo vit_size(const std::string& name, const std::string& layers, const std::string& hidden,
                  const std::string& heads) {
  return {name, {{"layers", layers}, {"hidden", hidden}, {"heads", heads}}};
}

}  // namespace

ModelInfo vit() {
  return {"vit",
          "encoder of image patches with a class token and its classifier",
          "Dosovitskiy et al., An Image is Worth 16x16 Words, ICLR 2021, table 1",
          {{"resolution", "224", "height and width of an image"},
           {"patch", "16", "height and width of a patch"},
           {"layers", "12", "encoder layers"},
           {"hidden", "768", "width of a token"},
           {"heads", "12", "attention heads; divides hidden"},
           {"feed_forward", "0", "width between a layer's two dense layers; 0: four times hidden"},
           {"classes", "1000", "classes told apart"},
           attention_parameter("flash")},
          build_vit,
          {vit_size("vit-base", "12", "768", "12"), vit_size("vit-large", "24", "1024", "16"),
           vit_size("vit-huge", "32", "1280", "16")}};
}

}  // namespace penstock::models
