// BERT's encoder, operator by operator, with its pooler and the heads of its two tasks.

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {
namespace {

struct Size {
  std::int64_t layers, hidden, heads, width, vocabulary, positions, segments;
};

struct EncoderForm {
  bool norms_before;
  std::string attention;
  bool dropout, biases;
  Activation activation;
};

Tensor embed(Layers& net, std::int64_t sequence, const Size& size, const EncoderForm& form) {
  const auto look_up = [&](const std::string& name, std::int64_t rows) {
    return net.embedding(name + ".embedding", net.indices(name + ".input", sequence), {rows, size.hidden});
  };
  std::vector<Tensor> terms = {look_up("token", size.vocabulary), look_up("position", size.positions)};
  if (size.segments > 0) terms.push_back(look_up("segment", size.segments));
  const Tensor sum = net.add("embedding.sum", terms, form.dropout);
  return form.norms_before ? sum : net.layer_norm("embedding.norm", sum);
}

/// Norms follow the residual sums, as in Vaswani et al.
Tensor post_norm_layer(Layers& net, const std::string& name, const Tensor& x, const Size& size,
                       const EncoderForm& form) {
  const Tensor attended = self_attention(net, name + ".attention", x, size.heads, form.attention,
                                         AttentionMask::none, form.dropout, form.biases);
  const Tensor middle = net.layer_norm(name + ".norm1", net.add(name + ".add1", {x, attended}, form.dropout));
  const Tensor fed = feed_forward(net, name, middle, size.width, form.activation, form.biases);
  return net.layer_norm(name + ".norm2", net.add(name + ".add2", {middle, fed}, form.dropout));
}

Tensor encode(Layers& net, Tensor x, const Size& size, const EncoderForm& form) {
  const PreNorm before{size.heads,          size.width,   form.attention, form.activation,
                       AttentionMask::none, form.dropout, form.biases};
  for (std::int64_t i = 0; i < size.layers; ++i) {
    const std::string name = "layer" + std::to_string(i);
    x = form.norms_before ? pre_norm_layer(net, name, x, before) : post_norm_layer(net, name, x, size, form);
  }
  return form.norms_before ? net.layer_norm("norm", x) : x;
}

Tensor pool(Layers& net, const Tensor& x) {
  const Tensor first = net.view("pooler.first_token", x, {x.width()});
  return net.activation("pooler.tanh", net.linear("pooler.dense", first, x.width(), {.bias = true}),
                        Activation::tanh);
}

/// Classifies whether the second segment follows the first (section 3.1, task 2).
void add_next_head(Layers& net, const Tensor& pooled, graph::LossKernel kernel) {
  const Tensor logits = net.linear("next.head", pooled, 2, {.bias = true});
  if (kernel != graph::LossKernel::none) net.loss("next.loss", logits, graph::LossKernel::torch);
}

/// Predicts masked tokens (section 3.1, task 1; transform and bias: the authors' code).
void add_masked_head(Layers& net, const Tensor& x, std::int64_t vocabulary, bool tied,
                     graph::LossKernel kernel) {
  const Tensor dense = net.linear("masked.dense", x, x.width(), {.bias = true});
  const Tensor normed =
      net.layer_norm("masked.norm", net.activation("masked.activation", dense, Activation::gelu));
  Tensor logits =
      net.linear("head", normed, vocabulary, {.bias = !tied, .parameters_of = tied ? "token.embedding" : ""});
  if (tied) logits = net.shift("head.bias", logits);
  if (kernel != graph::LossKernel::none) net.loss("loss", logits, kernel);
}

Size read_size(const Parameters& p) {
  const std::int64_t hidden = p.integer("hidden", 1, kWidest),
                     width = p.integer("feed_forward", 0, 4 * kWidest);
  return {p.integer("layers", 1, kDeepest),
          hidden,
          p.heads("heads", hidden),
          width > 0 ? width : 4 * hidden,
          p.integer("vocabulary", 1, 10 * kWidest),
          p.integer("positions", 1, kWidest),
          p.integer("segments", 0, kWidest)};
}

EncoderForm read_form(const Parameters& p) {
  const std::string word = p.word("activation", {"gelu", "swiglu"});
  EncoderForm out{p.word("norms", {"after", "before"}) == "before", read_attention(p), p.flag("dropout"),
                  p.flag("biases"), word == "gelu" ? Activation::gelu : Activation::swiglu};
  if (out.dropout && out.attention == "split") p.fail("dropout", "no, where attention is split");
  return out;
}

graph::OpGraph build_bert(const Parameters& p) {
  const Size size = read_size(p);
  const EncoderForm form = read_form(p);
  const std::string head = p.word("head", {"pooler", "masked", "both"});
  const bool tied = p.flag("tied_head");
  const graph::LossKernel kernel = read_loss(p, "masked_loss");
  if (head == "pooler" && kernel != graph::LossKernel::none)
    p.fail("masked_loss", "no, where no head predicts tokens");
  Layers net(p.model(), p.element_bytes());
  const Tensor x = encode(net, embed(net, p.integer("sequence", 1, size.positions), size, form), size, form);
  if (head == "pooler") pool(net, x);
  if (head == "both") add_next_head(net, pool(net, x), kernel);
  if (head != "pooler") add_masked_head(net, x, size.vocabulary, tied, kernel);
  return net.build();
}

}  // namespace

ModelInfo bert() {
  ParameterInfo masked_loss = loss_parameter();  // of the head of masked tokens
  masked_loss.name = "masked_loss";
  return {
      "bert",
      "encoder with embeddings, norms, residual sums, GELU, pooler and heads",
      "Devlin et al., BERT, NAACL 2019, section 3",
      {{"vocabulary", "30522", "tokens known"},
       {"positions", "512", "positions known"},
       {"sequence", "512", "tokens of a sample, at most the positions"},
       {"layers", "12", "encoder layers"},
       {"hidden", "768", "width of a token"},
       {"heads", "12", "attention heads; divides hidden"},
       {"feed_forward", "0", "width between a layer's two dense layers; 0: four times hidden"},
       {"activation", "gelu", "between these: gelu, or swiglu of two as wide"},
       {"segments", "2", "rows of the table of segments; 0: there is none"},
       {"norms", "after",
        "after: each sum is normalised; before: each branch reads a normalised input, and a norm "
        "ends the encoder (Megatron-LM)"},
       {"biases", "yes", "yes: dense layers and projections of the layers have biases; no: none has"},
       {"dropout", "no",
        "yes: the masks of dropout, of attention, layers and embeddings, take time and memory; no: they are left "
        "out"},
       {"head", "pooler",
        "pooler: of the first token; masked: predicts masked tokens; both: and, behind the pooler, the next "
        "sentence"},
       {"tied_head", "yes",
        "yes: the head of masked tokens uses the token embedding's weights; no: it has its own"},
       masked_loss,
       attention_parameter("split")},
      build_bert,
      {{"base", {{"layers", "12"}, {"hidden", "768"}, {"heads", "12"}}},
       {"large", {{"layers", "24"}, {"hidden", "1024"}, {"heads", "16"}}}}};
}

}  // namespace penstock::models
