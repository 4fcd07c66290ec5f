// VGG-16 as in torchvision, without batch norm; dropout left out.

#include "models/families.hpp"
#include "models/layers.hpp"
#include "models/parameters.hpp"

namespace penstock::models {
namespace {

Tensor relu(Layers& net, const std::string& name, const Tensor& x) {
  return net.activation(name + ".relu", x, Activation::relu);
}

graph::OpGraph build_vgg16(const Parameters& p) {
  const std::int64_t resolution = p.integer("resolution", 32, 4096);
  Layers net(p.model(), p.element_bytes());
  Tensor x = net.input("input", {3, resolution, resolution});
  const std::vector<std::vector<std::int64_t>> blocks = {
      {64, 64}, {128, 128}, {256, 256, 256}, {512, 512, 512}, {512, 512, 512}};
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t i = 0; i < blocks[b].size(); ++i) {
      const std::string name = "block" + std::to_string(b) + ".conv" + std::to_string(i);
      x = relu(net, name, net.conv2d(name, x, blocks[b][i], {{3, 3}, {1, 1}, {1, 1}}, true));
    }
    x = net.max_pool("block" + std::to_string(b) + ".pool", x, {{2, 2}, {2, 2}});
  }
  x = net.flatten("flatten", net.adaptive_average_pool("pool", x, 7));
  x = relu(net, "dense0", net.linear("dense0", x, 4096, {.bias = true}));
  x = relu(net, "dense1", net.linear("dense1", x, 4096, {.bias = true}));
  net.linear("classes", x, 1000, {.bias = true});
  return net.build();
}

}  // namespace

ModelInfo vgg16() {
  return {"vgg16",
          "plain convolutional network for images",
          "Simonyan and Zisserman, Very Deep Convolutional Networks, ICLR 2015, configuration D",
          {{"resolution", "224", "height and width of an image"}},
          build_vgg16};
}

}  // namespace penstock::models
