// BERT's encoder with pooler, operator by operator; no dropout and no task head.

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {
namespace {

constexpr std::int64_t kVocabulary = 30'522, kPositions = 512, kSegments = 2;

struct Size {
  std::int64_t layers, hidden, heads;
};

Tensor embed(Layers& net, std::int64_t sequence, std::int64_t hidden) {
  const auto look_up = [&](const std::string& name, std::int64_t rows) {
    return net.embedding(name + ".embedding", net.indices(name + ".input", sequence), {rows, hidden});
  };
  const Tensor tokens = look_up("token", kVocabulary);
  const Tensor positions = look_up("position", kPositions);
  const Tensor segments = look_up("segment", kSegments);
  return net.layer_norm("embedding.norm", net.add("embedding.sum", {tokens, positions, segments}));
}

/// Norms follow the residual sums, as in Vaswani et al.
Tensor layer(Layers& net, const std::string& name, const Tensor& x, const Size& size,
             const std::string& attention) {
  const Tensor attended = self_attention(net, name + ".attention", x, size.heads, attention);
  const Tensor middle = net.layer_norm(name + ".norm1", net.add(name + ".add1", {x, attended}));
  const Tensor fed = feed_forward(net, name, middle, 4 * size.hidden, Activation::gelu);
  return net.layer_norm(name + ".norm2", net.add(name + ".add2", {middle, fed}));
}

graph::OpGraph build_bert(const Parameters& p) {
  const Size size = p.word("size", {"base", "large"}) == "base" ? Size{12, 768, 12} : Size{24, 1024, 16};
  const std::string attention = read_attention(p);
  Layers net(p.model(), p.element_bytes());
  Tensor x = embed(net, p.integer("sequence", 1, kPositions), size.hidden);
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
          {{"size", "base", "base (12 layers of 768) or large (24 of 1024)"},
           {"sequence", "512", "tokens of a sample, at most 512"},
           attention_parameter("split")},
          build_bert};
}

}  // namespace penstock::models
