// ResNet-50 as in torchvision ("v1.5": the 3x3 convolution carries the stride).

#include "models/families.hpp"
#include "models/layers.hpp"
#include "models/parameters.hpp"

namespace penstock::models {
namespace {

/// Convolution without bias and batch norm, "same" padding for odd kernels.
Tensor conv_norm(Layers& net, const std::string& name, const Tensor& x, std::int64_t channels,
                 std::int64_t kernel, std::int64_t stride) {
  const std::int64_t pad = kernel / 2;
  const Window window{{kernel, kernel}, {stride, stride}, {pad, pad}};
  return net.batch_norm(name + ".norm", net.conv2d(name + ".conv", x, channels, window));
}

Tensor conv_norm_relu(Layers& net, const std::string& name, const Tensor& x, std::int64_t channels,
                      std::int64_t kernel, std::int64_t stride) {
  return net.activation(name + ".relu", conv_norm(net, name, x, channels, kernel, stride), Activation::relu);
}

/// 1x1 down to `channels`, 3x3, 1x1 up to four times as many; the shortcut is projected where shapes differ.
Tensor bottleneck(Layers& net, const std::string& name, const Tensor& x, std::int64_t channels,
                  std::int64_t stride) {
  Tensor y = conv_norm_relu(net, name + ".reduce", x, channels, 1, 1);
  y = conv_norm_relu(net, name + ".middle", y, channels, 3, stride);
  y = conv_norm(net, name + ".expand", y, 4 * channels, 1, 1);
  const bool same = x.shape == y.shape;
  const Tensor shortcut = same ? x : conv_norm(net, name + ".shortcut", x, 4 * channels, 1, stride);
  return net.activation(name + ".relu", net.add(name + ".add", {y, shortcut}), Activation::relu);
}

graph::OpGraph build_resnet50(const Parameters& p) {
  const std::int64_t resolution = p.integer("resolution", 32, 4096);
  Layers net(p.model(), p.element_bytes());
  Tensor x = conv_norm_relu(net, "stem", net.input("input", {3, resolution, resolution}), 64, 7, 2);
  x = net.max_pool("stem.pool", x, {{3, 3}, {2, 2}, {1, 1}});
  const std::int64_t depths[] = {3, 4, 6, 3};
  for (std::int64_t group = 0; group < 4; ++group)
    for (std::int64_t i = 0; i < depths[group]; ++i) {
      const std::string name = "group" + std::to_string(group) + ".block" + std::to_string(i);
      x = bottleneck(net, name, x, std::int64_t{64} << group, i == 0 && group > 0 ? 2 : 1);
    }
  x = net.flatten("flatten", net.adaptive_average_pool("pool", x, 1));
  net.linear("classes", x, 1000, {.bias = true});
  return net.build();
}

}  // namespace

ModelInfo resnet50() {
  return {"resnet50",
          "residual network for images",
          "He et al., Deep Residual Learning, CVPR 2016; stride placement as in torchvision",
          {{"resolution", "224", "height and width of an image"}},
          build_resnet50};
}

}  // namespace penstock::models
