// CLIP, image and text, as in the GraphPipe authors' optimizer logs: two bare stacks joined by one matrix
// product.

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {
namespace {

/// Cuts the image into patches: one convolution as wide as its stride, then one token per patch.
Tensor patches(Layers& net, std::int64_t resolution, std::int64_t patch, std::int64_t hidden) {
  const Tensor image = net.input("image.input", {3, resolution, resolution});
  const Tensor grid = net.conv2d("image.patches", image, hidden, {{patch, patch}, {patch, patch}}, true);
  const Tensor flat = net.view("image.reshape", grid, {hidden, grid.shape[1] * grid.shape[2]});
  return net.view("image.transpose", flat, {flat.shape[1], hidden});
}

graph::OpGraph build_clip(const Parameters& p) {
  const std::int64_t tokens = p.integer("text_sequence", 1, kWidest);
  const std::int64_t resolution = p.integer("resolution", 1, 4096), patch = p.integer("patch", 1, 4096);
  const BareStack text = read_bare_stack(p, "text_"), image = read_bare_stack(p, "image_");
  if (patch > resolution) p.fail("patch", "at most the resolution " + std::to_string(resolution));
  if (resolution / patch > 256) p.fail("patch", "at most 256 x 256 patches");
  if (tokens * text.hidden % image.hidden != 0)
    p.fail("text_sequence", "text_sequence x text_hidden to be a multiple of image_hidden");

  Layers net(p.model(), p.element_bytes());
  const Tensor words = bare_branch(net, "text", tokens, text);
  const Tensor picture = bare_stack(net, "image", patches(net, resolution, patch, image.hidden), image);
  const std::int64_t columns = words.elements() / image.hidden;
  const Tensor turned = net.view("text.reshape", words, {image.hidden, columns});
  net.matmul("similarity", picture, turned, {1, picture.rows(), image.hidden, columns},
             {picture.rows(), columns});
  return net.build();
}

}  // namespace

// The text is reshaped to the image's width before the product, as in the authors' code ("temporary operator
// to fix mismatch"). Their later sizes: both hidden 2048, 16 heads, 12 layers, 512 tokens, patch 14 of 336.
ModelInfo clip() {
  std::vector<ParameterInfo> parameters = {{"text_sequence", "76", "tokens of a text"},
                                           {"resolution", "224", "height and width of an image"},
                                           {"patch", "16", "height and width of a patch"}};
  for (auto& p : bare_parameters({.layers = 12, .hidden = 512, .heads = 8, .feed_forward = 0}, "text_"))
    parameters.push_back(std::move(p));
  for (auto& p : bare_parameters({.layers = 24, .hidden = 1024, .heads = 16, .feed_forward = 0}, "image_"))
    parameters.push_back(std::move(p));
  return {"clip", "image and text branches of bare layers, joined by their product",
          "cmu-catalyst/FlexFlow examples/cpp/CLIP (GraphPipe authors); Radford et al., CLIP, ICML 2021",
          std::move(parameters), build_clip};
}

}  // namespace penstock::models
