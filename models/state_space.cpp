#include "models/state_space.hpp"

namespace penstock::models {

Tensor state_space(Layers& net, const std::string& name, const Tensor& x, const StateSpace& m) {
  const std::int64_t inner = m.heads * m.head_width, mixed = inner + 2 * m.groups * m.state, rows = x.rows();
  const Tensor joined = net.linear(name + ".in_proj", x, inner + mixed + m.heads, {.bias = m.in_bias}),
               gate = net.view(name + ".z", joined, {rows, inner}),
               keyed = net.view(name + ".xbc", joined, {rows, mixed}),
               steps = net.view(name + ".dt", joined, {rows, m.heads}),
               convolved = net.short_convolution(name + ".conv", keyed,
                                                 {.kernel = m.kernel, .bias = m.conv_bias, .silu = true});
  std::vector<Tensor> operands{convolved, steps};
  if (!m.norm) operands.push_back(gate);
  Tensor out = net.scan(name + ".scan", operands,
                        {.heads = m.heads,
                         .groups = m.groups == m.heads ? 0 : m.groups,
                         .key = m.state,
                         .value = m.head_width,
                         .chunk = m.chunk,
                         .gated = !m.norm});
  if (m.norm) out = net.gated_norm(name + ".norm", out, gate, m.groups, inner);
  return net.linear(name + ".out_proj", out, x.width(), {.bias = m.out_bias});
}

}  // namespace penstock::models
