#include "models/rotary_decoder.hpp"

namespace penstock::models {

Tensor attend(Layers& net, const std::string& name, const Tensor& x, const GroupedAttention& attention) {
  const Tensor normed = net.rms_norm(name + ".norm1", x);
  return net.add(name + ".add1", {x, net.attention(name + ".attention", normed, normed, normed,
                                                   attention.heads, attention.form)});
}

Tensor gated_feed_forward(Layers& net, const std::string& name, const Tensor& x, std::int64_t width) {
  const Tensor wide = net.linear(name + ".gate_up", x, 2 * width);
  return net.linear(name + ".down", net.swiglu(name + ".swiglu", wide), x.width());
}

Tensor llama_layer(Layers& net, const std::string& name, const Tensor& x, const GroupedAttention& attention,
                   std::int64_t width) {
  const Tensor middle = attend(net, name, x, attention);
  return net.add(name + ".add2",
                 {middle, gated_feed_forward(net, name, net.rms_norm(name + ".norm2", middle), width)});
}

graph::OpGraph rotary_decoder(const Parameters& p, const DecoderLayer& layer) {
  const std::int64_t vocabulary = p.integer("vocabulary", 1, 10 * kWidest),
                     hidden = p.integer("hidden", 1, kWidest),
                     sequence = p.integer("sequence", 1, 16 * kWidest);
  Layers net(p.model(), p.element_bytes());
  Tensor x = net.embedding("token.embedding", net.indices("token.input", sequence), {vocabulary, hidden});
  const std::int64_t layers = p.integer("layers", 1, kDeepest);
  for (std::int64_t i = 0; i < layers; ++i) x = layer(net, "layer" + std::to_string(i), x);
  x = net.linear("head", net.rms_norm("norm", x), vocabulary,
                 {.parameters_of = p.flag("tied_head") ? "token.embedding" : ""});
  add_loss(net, p, "loss", x);
  return net.build();
}

}  // namespace penstock::models
