#include "models/selective_scan.hpp"

namespace penstock::models {
namespace {

/// Steps, and keys with queries, projected from the convolved channels.
struct SelectedSteps {
  Tensor narrow;
  std::vector<Tensor> keyed;
};

SelectedSteps selected(Layers& net, const std::string& name, const Tensor& u, const SelectiveScan& m) {
  const std::int64_t rows = u.rows();
  const Tensor all = net.linear(name + ".x_proj", u, m.step_rank + 2 * m.state),
               narrow = net.view(name + ".dt", all, {rows, m.step_rank});
  if (!m.norms) return {narrow, {net.view(name + ".bc", all, {rows, 2 * m.state})}};
  const NormKind kind = m.norm_weights ? NormKind::rms : NormKind::rms_plain;
  const auto normed = [&](const std::string& part) {
    return net.normalised(name + part + "_norm", net.view(name + part, all, {rows, m.state}), kind);
  };
  return {net.normalised(name + ".dt_norm", narrow, kind), {normed(".b"), normed(".c")}};
}

}  // namespace

Tensor selective_scan(Layers& net, const std::string& name, const Tensor& x, const SelectiveScan& m) {
  const Tensor joined = net.linear(name + ".in_proj", x, 2 * m.channels, {.bias = m.bias}),
               channels = net.view(name + ".u", joined, {x.rows(), m.channels}),
               gate = net.view(name + ".z", joined, {x.rows(), m.channels}),
               u = net.short_convolution(name + ".conv", channels,
                                         {.kernel = m.kernel, .bias = m.conv_bias, .silu = true});
  const SelectedSteps from = selected(net, name, u, m);
  const Tensor steps = net.linear(name + ".dt_proj", from.narrow, m.channels, {.bias = true});
  std::vector<Tensor> operands{u};
  operands.insert(operands.end(), from.keyed.begin(), from.keyed.end());
  operands.insert(operands.end(), {steps, gate});
  const Tensor out = net.scan(name + ".scan", operands,
                              {.heads = m.channels,
                               .groups = 1,
                               .key = m.state,
                               .value = 1,
                               .chunk = m.chunk,
                               .form = graph::ScanForm::selective,
                               .gated = true});
  return net.linear(name + ".out_proj", out, x.width(), {.bias = m.bias});
}

}  // namespace penstock::models
