#include "models/short_convolution.hpp"

namespace penstock::models {

Tensor gated_convolution(Layers& net, const std::string& name, const Tensor& x, const GatedConvolution& m) {
  const Tensor joined = net.linear(name + ".in_proj", x, 3 * x.width(), {.bias = m.bias});
  const auto part = [&](const char* suffix) { return net.view(name + suffix, joined, x.shape); };
  const Tensor before = part(".b"), after = part(".c"),
               gated = net.multiply(name + ".gate", before, part(".x")),
               convolved = net.short_convolution(name + ".conv", gated, {.kernel = m.kernel, .bias = m.bias});
  return net.linear(name + ".out_proj", net.multiply(name + ".gate_out", after, convolved), x.width(),
                    {.bias = m.bias});
}

}  // namespace penstock::models
