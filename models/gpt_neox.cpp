// GPT-NeoX's decoder: rotary positions, attention and feed-forward side by side, a head of its own; no
// dropout.

#include "models/blocks.hpp"
#include "models/families.hpp"

namespace penstock::models {
namespace {

struct NeoxSizes {
  std::int64_t heads, width;
  AttentionCore core;
  AttentionMask mask;
  bool parallel;  ///< both branches read the layer's input (Wang and Komatsuzaki, GPT-J, 2021)
};

Tensor neox_layer(Layers& net, const std::string& name, const Tensor& x, const NeoxSizes& sizes) {
  const Tensor normed = net.layer_norm(name + ".norm1", x);
  const Tensor attended =
      net.attention(name + ".attention", normed, normed, normed, sizes.heads,
                    {.bias = true, .core = sizes.core, .rotary = true, .mask = sizes.mask});
  const Tensor middle = sizes.parallel ? x : net.add(name + ".add1", {x, attended});
  const Tensor fed =
      feed_forward(net, name, net.layer_norm(name + ".norm2", middle), sizes.width, Activation::gelu);
  return sizes.parallel ? net.add(name + ".add", {x, attended, fed}) : net.add(name + ".add2", {middle, fed});
}

graph::OpGraph build_gpt_neox(const Parameters& p) {
  const std::int64_t vocabulary = p.integer("vocabulary", 1, 10 * kWidest),
                     hidden = p.integer("hidden", 1, kWidest),
                     sequence = p.integer("sequence", 1, 16 * kWidest),
                     given = p.integer("feed_forward", 0, 4 * kWidest);
  const NeoxSizes sizes{
      p.heads("heads", hidden), given > 0 ? given : 4 * hidden,
      p.word("attention", {"flash", "plain"}) == "flash" ? AttentionCore::flash : AttentionCore::plain,
      read_mask(p), p.flag("parallel")};
  Layers net(p.model(), p.element_bytes());
  Tensor x = net.embedding("token.embedding", net.indices("token.input", sequence), {vocabulary, hidden});
  const std::int64_t layers = p.integer("layers", 1, kDeepest);
  for (std::int64_t i = 0; i < layers; ++i) x = neox_layer(net, "layer" + std::to_string(i), x, sizes);
  x = net.linear("head", net.layer_norm("norm", x), vocabulary,
                 {.parameters_of = p.flag("tied_head") ? "token.embedding" : ""});
  add_loss(net, p, "loss", x);
  return net.build();
}

SizeInfo neox_size(const std::string& name, const std::string& layers, const std::string& hidden,
                   const std::string& heads, const std::string& vocabulary) {
  return {name, {{"layers", layers}, {"hidden", hidden}, {"heads", heads}, {"vocabulary", vocabulary}}};
}

}  // namespace

// A quarter of a head's width is turned by its position (rotary_pct). Queries and keys are still written
// again as a whole, which is the cost of rotary positions here.
ModelInfo gpt_neox() {
  return {
      "gpt_neox",
      "decoder with rotary positions, whose layers run attention and feed-forward side by side",
      "Black et al., GPT-NeoX-20B, 2022, section 2.1; Biderman et al., Pythia, 2023, table 1",
      {{"vocabulary", "50432", "tokens known, padded as the checkpoint's"},
       {"sequence", "2048", "tokens of a sample"},
       {"layers", "44", "decoder layers"},
       {"hidden", "6144", "width of a token"},
       {"heads", "64", "attention heads; divides hidden"},
       {"feed_forward", "0", "width between a layer's two dense layers; 0: four times hidden"},
       {"parallel", "yes", "yes: both branches of a layer read its input; no: one after the other"},
       {"attention", "flash", "flash, which never stores its scores; or plain, which runs kernel by kernel"},
       mask_parameter(),
       loss_parameter(),
       {"tied_head", "no", "yes: the head uses the token embedding's weights; no: it has its own"}},
      build_gpt_neox,
      {neox_size("gpt-neox-20b", "44", "6144", "64", "50432"),
       neox_size("pythia-1b", "16", "2048", "8", "50304"),
       neox_size("pythia-6.9b", "32", "4096", "32", "50432"),
       neox_size("pythia-12b", "36", "5120", "40", "50688")}};
}

}  // namespace penstock::models
