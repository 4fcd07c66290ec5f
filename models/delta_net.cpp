#include "models/delta_net.hpp"

namespace penstock::models {
namespace {

/// Operands of the scan behind the convolution, and the gate of the norm.
struct ProjectedTokens {
  Tensor convolved, gate;
  std::vector<Tensor> beside;
};

std::int64_t decay_width(const DeltaNet& m) {
  return m.channel_decay ? m.value_heads * m.key_width : m.value_heads;
}

Tensor convolved(Layers& net, const std::string& name, const Tensor& x, const DeltaNet& m) {
  return net.short_convolution(name + ".conv", x, {.kernel = m.kernel, .silu = true});
}

/// One projection to query, key, value and gate, and one to decays and steps.
ProjectedTokens projected(Layers& net, const std::string& name, const Tensor& x, const DeltaNet& m) {
  const std::int64_t values = m.value_heads * m.value_width, all = 2 * m.key_heads * m.key_width + values;
  const Tensor joined = net.linear(name + ".in_proj", x, all + values),
               gates = net.linear(name + ".gates", x, decay_width(m) + m.value_heads),
               heads = net.view(name + ".qkv", joined, {x.rows(), all}),
               gate = net.view(name + ".z", joined, {x.rows(), values});
  return {convolved(net, name, heads, m), gate, {gates}};
}

Tensor through_latent(Layers& net, const std::string& name, const Tensor& x, std::int64_t latent,
                      std::int64_t width) {
  return net.linear(name + "_up", net.linear(name + "_down", x, latent), width);
}

ProjectedTokens latent_projected(Layers& net, const std::string& name, const Tensor& x, const DeltaNet& m) {
  const std::int64_t values = m.value_heads * m.value_width, all = 2 * m.key_heads * m.key_width + values;
  const Tensor heads = net.linear(name + ".in_proj", x, all),
               steps = net.linear(name + ".steps", x, m.value_heads),
               decay = through_latent(net, name + ".decay", x, m.latent, decay_width(m)),
               gate = through_latent(net, name + ".gate", x, m.latent, values);
  return {convolved(net, name, heads, m), gate, {decay, steps}};
}

}  // namespace

Tensor delta_net(Layers& net, const std::string& name, const Tensor& x, const DeltaNet& m) {
  const ProjectedTokens tokens =
      m.latent > 0 ? latent_projected(net, name, x, m) : projected(net, name, x, m);
  std::vector<Tensor> operands{tokens.convolved};
  operands.insert(operands.end(), tokens.beside.begin(), tokens.beside.end());
  const graph::LinearScan scan{
      .heads = m.value_heads,
      .groups = m.key_heads == m.value_heads ? 0 : m.key_heads,
      .key = m.key_width,
      .value = m.value_width,
      .chunk = m.chunk,
      .form = m.channel_decay ? graph::ScanForm::channel_delta : graph::ScanForm::delta};
  const Tensor mixed = net.scan(name + ".scan", operands, scan),
               gated = net.gated_norm(name + ".norm", mixed, tokens.gate, m.value_heads, m.value_width);
  return net.linear(name + ".out_proj", gated, x.width());
}

}  // namespace penstock::models
