// Inception v3 as in torchvision, whose block names it keeps; without the auxiliary head and dropout.

#include "models/families.hpp"
#include "models/layers.hpp"
#include "models/parameters.hpp"

namespace penstock::models {
namespace {

constexpr Window k1x1{{1, 1}}, k3x3{{3, 3}}, kHalve{{3, 3}, {2, 2}}, kSame3x3{{3, 3}, {1, 1}, {1, 1}},
    kSame5x5{{5, 5}, {1, 1}, {2, 2}}, kSame1x7{{1, 7}, {1, 1}, {0, 3}}, kSame7x1{{7, 1}, {1, 1}, {3, 0}},
    kSame1x3{{1, 3}, {1, 1}, {0, 1}}, kSame3x1{{3, 1}, {1, 1}, {1, 0}};

/// One convolution of a branch: output channels and window.
struct Conv {
  std::int64_t channels;
  Window window;
};

/// Convolutions one after the other, each with batch norm and ReLU: <name>.{conv, norm, relu}<i>.
Tensor chain(Layers& net, const std::string& name, Tensor x, const std::vector<Conv>& convs) {
  for (std::size_t i = 0; i < convs.size(); ++i) {
    const std::string number = std::to_string(i);
    x = net.conv2d(name + ".conv" + number, x, convs[i].channels, convs[i].window);
    x = net.batch_norm(name + ".norm" + number, x);
    x = net.activation(name + ".relu" + number, x, Activation::relu);
  }
  return x;
}

Tensor pooled(Layers& net, const std::string& name, const Tensor& x, std::int64_t channels) {
  return chain(net, name, net.average_pool(name + ".pool", x, kSame3x3), {{channels, k1x1}});
}

/// Batch-norm Inception's own block: factorised 5x5 and double 3x3 (figure 5 of the paper).
Tensor block_a(Layers& net, const std::string& name, const Tensor& x, std::int64_t pool_channels) {
  const Tensor one = chain(net, name + ".one", x, {{64, k1x1}});
  const Tensor five = chain(net, name + ".five", x, {{48, k1x1}, {64, kSame5x5}});
  const Tensor three = chain(net, name + ".three", x, {{64, k1x1}, {96, kSame3x3}, {96, kSame3x3}});
  return net.concat(name + ".concat", {one, five, three, pooled(net, name + ".pooled", x, pool_channels)});
}

Tensor block_b(Layers& net, const std::string& name, const Tensor& x) {
  const Tensor three = chain(net, name + ".three", x, {{384, kHalve}});
  const Tensor twice = chain(net, name + ".twice", x, {{64, k1x1}, {96, kSame3x3}, {96, kHalve}});
  return net.concat(name + ".concat", {three, twice, net.max_pool(name + ".pool", x, kHalve)});
}

/// 7x7 convolutions taken apart into 1x7 and 7x1 (figure 6).
Tensor block_c(Layers& net, const std::string& name, const Tensor& x, std::int64_t c) {
  const Tensor one = chain(net, name + ".one", x, {{192, k1x1}});
  const Tensor seven = chain(net, name + ".seven", x, {{c, k1x1}, {c, kSame1x7}, {192, kSame7x1}});
  const Tensor twice = chain(net, name + ".twice", x,
                             {{c, k1x1}, {c, kSame7x1}, {c, kSame1x7}, {c, kSame7x1}, {192, kSame1x7}});
  return net.concat(name + ".concat", {one, seven, twice, pooled(net, name + ".pooled", x, 192)});
}

Tensor block_d(Layers& net, const std::string& name, const Tensor& x) {
  const Tensor three = chain(net, name + ".three", x, {{192, k1x1}, {320, kHalve}});
  const Tensor seven =
      chain(net, name + ".seven", x, {{192, k1x1}, {192, kSame1x7}, {192, kSame7x1}, {192, kHalve}});
  return net.concat(name + ".concat", {three, seven, net.max_pool(name + ".pool", x, kHalve)});
}

/// Ends a branch in a 1x3 and a 3x1 convolution side by side (figure 7).
Tensor fork(Layers& net, const std::string& name, const Tensor& x) {
  const Tensor wide = chain(net, name + ".wide", x, {{384, kSame1x3}});
  const Tensor tall = chain(net, name + ".tall", x, {{384, kSame3x1}});
  return net.concat(name + ".concat", {wide, tall});
}

Tensor block_e(Layers& net, const std::string& name, const Tensor& x) {
  const Tensor one = chain(net, name + ".one", x, {{320, k1x1}});
  const Tensor three = fork(net, name + ".three", chain(net, name + ".three", x, {{384, k1x1}}));
  const Tensor twice =
      fork(net, name + ".twice", chain(net, name + ".twice", x, {{448, k1x1}, {384, kSame3x3}}));
  return net.concat(name + ".concat", {one, three, twice, pooled(net, name + ".pooled", x, 192)});
}

Tensor stem(Layers& net, std::int64_t resolution) {
  Tensor x = net.input("input", {3, resolution, resolution});
  x = chain(net, "stem1", x, {{32, kHalve}, {32, k3x3}, {64, kSame3x3}});
  x = net.max_pool("stem1.pool", x, kHalve);
  x = chain(net, "stem2", x, {{80, k1x1}, {192, k3x3}});
  return net.max_pool("stem2.pool", x, kHalve);
}

graph::OpGraph build_inception_v3(const Parameters& p) {
  Layers net(p.model(), p.element_bytes());
  Tensor x = stem(net, p.integer("resolution", 75, 4096));
  x = block_a(net, "mixed_5b", x, 32);
  x = block_a(net, "mixed_5c", x, 64);
  x = block_a(net, "mixed_5d", x, 64);
  x = block_b(net, "mixed_6a", x);
  x = block_c(net, "mixed_6b", x, 128);
  x = block_c(net, "mixed_6c", x, 160);
  x = block_c(net, "mixed_6d", x, 160);
  x = block_c(net, "mixed_6e", x, 192);
  x = block_d(net, "mixed_7a", x);
  x = block_e(net, "mixed_7b", x);
  x = block_e(net, "mixed_7c", x);
  x = net.flatten("flatten", net.adaptive_average_pool("pool", x, 1));
  net.linear("classes", x, 1000, {.bias = true});
  return net.build();
}

}  // namespace

ModelInfo inception_v3() {
  return {"inception_v3",
          "convolutional network of branching blocks for images",
          "Szegedy et al., Rethinking the Inception Architecture, CVPR 2016; sizes as in torchvision",
          {{"resolution", "299", "height and width of an image, at least 75"}},
          build_inception_v3};
}

}  // namespace penstock::models
