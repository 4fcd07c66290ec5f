// The original Transformer: every decoder layer reads the encoder's output, so the graph is no simple chain.

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {
namespace {

struct Sizes {
  std::int64_t hidden, heads, feed_forward;
};

Tensor add_norm(Layers& net, const std::string& name, const Tensor& x, const Tensor& change) {
  return net.layer_norm(name + ".norm", net.add(name + ".add", {x, change}));
}

/// Attention of `x` to `memory` (itself: self-attention), residual sum and norm.
Tensor attend(Layers& net, const std::string& name, const Tensor& x, const Tensor& memory,
              const Sizes& sizes) {
  return add_norm(net, name, x, net.attention(name, x, memory, memory, sizes.heads));
}

Tensor feed(Layers& net, const std::string& name, const Tensor& x, const Sizes& sizes) {
  return add_norm(net, name, x, feed_forward(net, name, x, sizes.feed_forward, Activation::relu));
}

Tensor encode(Layers& net, Tensor x, std::int64_t layers, const Sizes& sizes) {
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name = "encoder" + std::to_string(i);
    x = feed(net, name + ".feed", attend(net, name + ".self", x, x, sizes), sizes);
  }
  return x;
}

Tensor decode(Layers& net, Tensor x, const Tensor& memory, std::int64_t layers, const Sizes& sizes) {
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name = "decoder" + std::to_string(i);
    x = attend(net, name + ".self", x, x, sizes);
    x = attend(net, name + ".cross", x, memory, sizes);
    x = feed(net, name + ".feed", x, sizes);
  }
  return x;
}

graph::OpGraph build_encoder_decoder(const Parameters& p) {
  const std::int64_t vocabulary = p.integer("vocabulary", 1, 10 * kWidest),
                     hidden = p.integer("hidden", 1, kWidest);
  const Sizes sizes{hidden, p.heads("heads", hidden), p.integer("feed_forward", 1, kWidest)};
  const std::int64_t layers = p.integer("layers", 1, kDeepest);
  const std::int64_t source = p.integer("source_length", 1, kWidest),
                     target = p.integer("target_length", 1, kWidest);
  Layers net(p.model(), p.element_bytes());
  const Tensor read =
      net.embedding("source.embedding", net.indices("source.input", source), {vocabulary, hidden});
  const Tensor memory = encode(net, read, layers, sizes);
  const Table shared{.rows = vocabulary, .width = hidden, .parameters_of = "source.embedding"};
  const Tensor said = net.embedding("target.embedding", net.indices("target.input", target), shared);
  net.linear("head", decode(net, said, memory, layers, sizes), vocabulary,
             {.parameters_of = "source.embedding"});
  return net.build();
}

}  // namespace

// Source and target embedding and the head share one table (section 3.4), counted at the source. Sinusoidal
// positions and dropout are left out; attention projections have no bias (section 3.2.2). Sentence lengths
// are not from the paper.
ModelInfo encoder_decoder() {
  return {"encoder_decoder",
          "translation Transformer with cross attention",
          "Vaswani et al., Attention Is All You Need, NIPS 2017 (base model)",
          {{"layers", "6", "layers of the encoder, and of the decoder"},
           {"hidden", "512", "width of a token"},
           {"heads", "8", "attention heads; divides hidden"},
           {"feed_forward", "2048", "width between the two dense layers"},
           {"vocabulary", "37000", "tokens known to both sides"},
           {"source_length", "64", "tokens of the source sentence"},
           {"target_length", "64", "tokens of the target sentence"}},
          build_encoder_decoder};
}

}  // namespace penstock::models
