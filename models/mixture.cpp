#include "models/mixture.hpp"

#include "models/dense_forward.hpp"

namespace penstock::models {
namespace {

constexpr std::int64_t kMostExperts = 4'096;

/// Each token's output times its own number between 0 and 1.
Tensor gated_by_token(Layers& net, const std::string& name, const Tensor& x, const Tensor& made) {
  const Tensor score = net.activation(name + ".sigmoid", net.linear(name, x, 1), Activation::sigmoid);
  return net.matmul(name + ".product", score, made, {made.rows(), 1, 1, made.width()}, made.shape);
}

}  // namespace

Mixture read_mixture(const Parameters& p) {
  Mixture out{};
  out.experts = p.integer("experts", 1, kMostExperts);
  out.chosen = p.integer("chosen", 1, out.experts);
  out.width = p.integer("expert_width", 1, kWidest);
  out.shared = p.integer("shared_width", 0, kWidest);
  return out;
}

std::vector<ParameterInfo> mixture_parameters(const Mixture& defaults) {
  return {
      {"experts", std::to_string(defaults.experts), "experts of a layer, of which every token takes some"},
      {"chosen", std::to_string(defaults.chosen), "experts that a token takes"},
      {"expert_width", std::to_string(defaults.width), "width of gate and up projection of an expert, each"},
      {"shared_width", std::to_string(defaults.shared),
       "the same of the feed-forward beside them that every token takes; 0: none"}};
}

std::vector<Tensor> mixture(Layers& net, const std::string& name, const Tensor& x, const Mixture& m) {
  const Tensor logits = net.linear(name + ".router", x, m.experts, {.bias = m.router_bias});
  const Tensor scores = m.sigmoid ? net.activation(name + ".scores", logits, Activation::sigmoid)
                                  : net.softmax(name + ".scores", logits);
  std::vector<Tensor> terms = {net.experts(
      name + ".experts", x, scores,
      {.chosen = m.chosen, .inner = m.width, .gated = m.gated, .bias = m.bias, .clamped = m.clamped})};
  if (m.shared == 0) return terms;
  const Tensor shared = dense_forward(
      net, name + ".shared", x, {m.shared, m.gated ? Activation::swiglu : Activation::gelu, m.shared_bias});
  terms.push_back(m.shared_gate ? gated_by_token(net, name + ".shared.gate", x, shared) : shared);
  return terms;
}

}  // namespace penstock::models
