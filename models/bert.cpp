// BERT's encoder with pooler, operator by operator; no dropout and no task head.

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {
namespace {

constexpr std::int64_t kSegments = 2;

struct Size {
  std::int64_t layers, hidden, heads, width, vocabulary, positions;
};

Tensor embed(Layers& net, std::int64_t sequence, const Size& size) {
  const auto look_up = [&](const std::string& name, std::int64_t rows) {
    return net.embedding(name + ".embedding", net.indices(name + ".input", sequence), {rows, size.hidden});
  };
  const Tensor tokens = look_up("token", size.vocabulary);
  const Tensor positions = look_up("position", size.positions);
  const Tensor segments = look_up("segment", kSegments);
  return net.layer_norm("embedding.norm", net.add("embedding.sum", {tokens, positions, segments}));
}

/// Norms follow the residual sums, as in Vaswani et al.
Tensor layer(Layers& net, const std::string& name, const Tensor& x, const Size& size,
             const std::string& attention) {
  const Tensor attended = self_attention(net, name + ".attention", x, size.heads, attention);
  const Tensor middle = net.layer_norm(name + ".norm1", net.add(name + ".add1", {x, attended}));
  const Tensor fed = feed_forward(net, name, middle, size.width, Activation::gelu);
  return net.layer_norm(name + ".norm2", net.add(name + ".add2", {middle, fed}));
}

graph::OpGraph build_bert(const Parameters& p) {
  const std::int64_t hidden = p.integer("hidden", 1, kWidest),
                     width = p.integer("feed_forward", 0, 4 * kWidest);
  const Size size{p.integer("layers", 1, kDeepest),
                  hidden,
                  p.heads("heads", hidden),
                  width > 0 ? width : 4 * hidden,
                  p.integer("vocabulary", 1, 10 * kWidest),
                  p.integer("positions", 1, kWidest)};
  const std::string attention = read_attention(p);
  Layers net(p.model(), p.element_bytes());
  Tensor x = embed(net, p.integer("sequence", 1, size.positions), size);
  for (std::int64_t i = 0; i < size.layers; ++i)
    x = layer(net, "layer" + std::to_string(i), x, size, attention);
  const Tensor first = net.view("pooler.first_token", x, {size.hidden});
  net.activation("pooler.tanh", net.linear("pooler.dense", first, size.hidden, {.bias = true}),
                 Activation::tanh);
  return net.build();
}

}  // namespace

ModelInfo bert() {
  return {"bert",
          "encoder with embeddings, norms, residual sums, GELU and pooler",
          "Devlin et al., BERT, NAACL 2019, section 3",
          {{"vocabulary", "30522", "tokens known"},
           {"positions", "512", "positions known"},
           {"sequence", "512", "tokens of a sample, at most the positions"},
           {"layers", "12", "encoder layers"},
           {"hidden", "768", "width of a token"},
           {"heads", "12", "attention heads; divides hidden"},
           {"feed_forward", "0", "width between a layer's two dense layers; 0: four times hidden"},
           attention_parameter("split")},
          build_bert,
          {{"base", {{"layers", "12"}, {"hidden", "768"}, {"heads", "12"}}},
           {"large", {{"layers", "24"}, {"hidden", "1024"}, {"heads", "16"}}}}};
}

}  // namespace penstock::models
