#include "models/dense_forward.hpp"

#include "models/blocks.hpp"

namespace penstock::models {

Tensor gated_feed_forward(Layers& net, const std::string& name, const Tensor& x, std::int64_t width,
                          bool biases) {
  const Tensor wide = net.linear(name + ".gate_up", x, 2 * width, {.bias = biases});
  return net.linear(name + ".down", net.swiglu(name + ".swiglu", wide), x.width(), {.bias = biases});
}

Tensor dense_forward(Layers& net, const std::string& name, const Tensor& x, const DenseForm& dense) {
  if (dense.activation == Activation::swiglu && !dense.numbered)
    return gated_feed_forward(net, name, x, dense.width, dense.biases);
  return feed_forward(net, name, x, dense.width, dense.activation, dense.biases, dense.activation_weights);
}

}  // namespace penstock::models
