// The original Transformer: every decoder layer reads the encoder's output, so the graph is no simple chain.

#include <algorithm>

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {
namespace {

struct Sizes {
  std::int64_t hidden, heads, head_width, feed_forward, vocabulary, positions;
};

struct CodingForm {
  bool norms_before, attention_biases, dense_biases, dropout;
  Activation activation;
  AttentionCore core;
  AttentionMask mask;  ///< of the decoder's own tokens
};

/// A branch, its residual sum and its norm.
template <class Branch>
Tensor residual_branch(Layers& net, const std::string& name, const Tensor& x, const CodingForm& form,
                       const Branch& branch) {
  if (form.norms_before)
    return net.add(name + ".add", {x, branch(net.layer_norm(name + ".norm", x))}, form.dropout);
  return net.layer_norm(name + ".norm", net.add(name + ".add", {x, branch(x)}, form.dropout));
}

AttentionForm attention_form(const Sizes& sizes, const CodingForm& form, AttentionMask mask) {
  return {.bias = form.attention_biases,
          .core = form.core,
          .head_width = sizes.head_width,
          .mask = mask,
          .dropout = form.dropout};
}

/// Attention among the tokens of `x`.
Tensor attend_itself(Layers& net, const std::string& name, const Tensor& x, const Sizes& sizes,
                     const CodingForm& form, AttentionMask mask) {
  return residual_branch(net, name, x, form, [&](const Tensor& y) {
    return net.attention(name, y, y, y, sizes.heads, attention_form(sizes, form, mask));
  });
}

/// Attention of `x` to the encoder's output.
Tensor attend(Layers& net, const std::string& name, const Tensor& x, const Tensor& memory, const Sizes& sizes,
              const CodingForm& form) {
  return residual_branch(net, name, x, form, [&](const Tensor& y) {
    return net.attention(name, y, memory, memory, sizes.heads,
                         attention_form(sizes, form, AttentionMask::none));
  });
}

Tensor feed(Layers& net, const std::string& name, const Tensor& x, const Sizes& sizes,
            const CodingForm& form) {
  return residual_branch(net, name, x, form, [&](const Tensor& y) {
    return feed_forward(net, name, y, sizes.feed_forward, form.activation, form.dense_biases);
  });
}

Tensor encode_source(Layers& net, Tensor x, std::int64_t layers, const Sizes& sizes, const CodingForm& form) {
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name = "encoder" + std::to_string(i);
    x = attend_itself(net, name + ".self", x, sizes, form, AttentionMask::none);
    x = feed(net, name + ".feed", x, sizes, form);
  }
  return form.norms_before ? net.layer_norm("encoder.norm", x) : x;
}

Tensor decode(Layers& net, Tensor x, const Tensor& memory, std::int64_t layers, const Sizes& sizes,
              const CodingForm& form) {
  for (std::int64_t i = 0; i < layers; ++i) {
    const std::string name = "decoder" + std::to_string(i);
    x = attend_itself(net, name + ".self", x, sizes, form, form.mask);
    x = attend(net, name + ".cross", x, memory, sizes, form);
    x = feed(net, name + ".feed", x, sizes, form);
  }
  return form.norms_before ? net.layer_norm("decoder.norm", x) : x;
}

/// Tokens and, where learned, their positions; the target uses the source's tables.
Tensor embedded_side(Layers& net, const std::string& side, std::int64_t length, const Sizes& sizes,
                     const CodingForm& form) {
  const auto look_up = [&](const char* what, std::int64_t rows) {
    const Table table{.rows = rows,
                      .width = sizes.hidden,
                      .parameters_of = side == "source" ? "" : std::string("source") + what + "embedding"};
    return net.embedding(side + what + "embedding", net.indices(side + what + "input", length), table);
  };
  Tensor tokens = look_up(".", sizes.vocabulary);
  if (sizes.positions == 0) return tokens;
  return net.add(side + ".sum", {tokens, look_up(".position.", sizes.positions)}, form.dropout);
}

Sizes read_sizes(const Parameters& p) {
  const std::int64_t hidden = p.integer("hidden", 1, kWidest), head = p.integer("head_width", 0, kWidest);
  return {hidden,
          head > 0 ? p.integer("heads", 1, kMostHeads) : p.heads("heads", hidden),
          head,
          p.integer("feed_forward", 1, kWidest),
          p.integer("vocabulary", 1, 10 * kWidest),
          p.integer("positions", 0, kWidest)};
}

CodingForm read_coding_form(const Parameters& p) {
  const std::string word = p.word("activation", {"relu", "gelu", "swiglu"}),
                    core = p.word("attention", {"fused", "plain", "flash"}),
                    biases = p.word("biases", {"dense", "yes", "no"});
  return {p.word("norms", {"after", "before"}) == "before",
          biases == "yes",
          biases != "no",
          p.flag("dropout"),
          word == "relu"   ? Activation::relu
          : word == "gelu" ? Activation::gelu
                           : Activation::swiglu,
          attention_core(core),
          read_mask(p)};
}

void add_head(Layers& net, const Parameters& p, const Tensor& x, std::int64_t vocabulary) {
  const bool tied = p.flag("tied_head"), bias = p.flag("head_bias");
  Tensor logits = net.linear("head", x, vocabulary,
                             {.bias = bias && !tied, .parameters_of = tied ? "source.embedding" : ""});
  if (tied && bias) logits = net.shift("head.bias", logits);
  add_loss(net, p, "loss", logits);
}

graph::OpGraph build_encoder_decoder(const Parameters& p) {
  const Sizes sizes = read_sizes(p);
  const CodingForm form = read_coding_form(p);
  const std::int64_t layers = p.integer("layers", 1, kDeepest),
                     others = p.integer("decoder_layers", 0, kDeepest),
                     source = p.integer("source_length", 1, kWidest),
                     target = p.integer("target_length", 1, kWidest);
  if (sizes.positions > 0 && sizes.positions < std::max(source, target))
    p.fail("positions", "at least the longer sentence, or 0");
  Layers net(p.model(), p.element_bytes());
  const Tensor memory =
      encode_source(net, embedded_side(net, "source", source, sizes, form), layers, sizes, form);
  const Tensor said = embedded_side(net, "target", target, sizes, form);
  add_head(net, p, decode(net, said, memory, others > 0 ? others : layers, sizes, form), sizes.vocabulary);
  return net.build();
}

}  // namespace

// Source and target embedding and the head share one table (section 3.4), counted at the source. Sinusoidal
// positions are left out; attention projections have no bias (section 3.2.2). Sentence lengths are not from the
// paper. Megatron-LM's T5 has norms before its branches, learned positions, biases, GELU and a head's bias.
ModelInfo encoder_decoder() {
  return {
      "encoder_decoder",
      "translation Transformer with cross attention",
      "Vaswani et al., Attention Is All You Need, NIPS 2017 (base model)",
      {{"layers", "6", "layers of the encoder, and of the decoder"},
       {"decoder_layers", "0", "layers of the decoder; 0: as many as the encoder has"},
       {"hidden", "512", "width of a token"},
       {"heads", "8", "attention heads; divides hidden, unless head_width is given"},
       {"head_width", "0", "width of a head; 0: hidden divided by heads"},
       {"feed_forward", "2048", "width between the two dense layers"},
       {"activation", "relu", "between these: relu, gelu, or swiglu of two as wide"},
       {"vocabulary", "37000", "tokens known to both sides"},
       {"source_length", "64", "tokens of the source sentence"},
       {"target_length", "64", "tokens of the target sentence"},
       {"positions", "0", "rows of a table of learned positions, which both sides share; 0: there is none"},
       {"norms", "after",
        "after: each sum is normalised; before: each branch reads a normalised input, and a norm "
        "ends each side"},
       {"biases", "dense", "dense: dense layers have biases; yes: attention projections, too; no: neither"},
       {"attention", "fused",
        "fused: counts its scores once; plain: runs kernel by kernel; flash: never stores them"},
       {"mask", "none",
        "of the decoder's own tokens. causal: a token attends to itself and those before it; none: to "
        "all"},
       {"dropout", "no",
        "yes: the masks of dropout, of attention, layers and positions, take time and memory; no: they are left "
        "out"},
       {"head_bias", "no", "yes: the head has a bias"},
       {"tied_head", "yes", "yes: the head uses the embeddings' weights; no: it has its own"},
       loss_parameter()},
      build_encoder_decoder};
}

}  // namespace penstock::models
