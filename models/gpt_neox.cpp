// GPT-NeoX's decoder: rotary positions, attention and feed-forward side by side, a head of its own; no
// dropout.

#include "models/blocks.hpp"
#include "models/families.hpp"
#include "models/rotary_decoder.hpp"

namespace penstock::models {
namespace {

/// Both branches of a parallel layer read its input (Wang and Komatsuzaki, GPT-J, 2021).
DecoderLayer read_neox_layer(const Parameters& p) {
  const std::int64_t hidden = p.integer("hidden", 1, kWidest),
                     given = p.integer("feed_forward", 0, 4 * kWidest);
  const bool flash = p.word("attention", {"flash", "plain"}) == "flash";
  const HeadAttention attention{p.heads("heads", hidden),
                                {.bias = true,
                                 .core = flash ? AttentionCore::flash : AttentionCore::plain,
                                 .rotary = true,
                                 .mask = read_mask(p)}};
  return {.norm = NormKind::layer,
          .order = p.flag("parallel") ? BranchOrder::side_by_side : BranchOrder::in_turn,
          .mixer = attention,
          .feed_forward = DenseForm{given > 0 ? given : 4 * hidden, Activation::gelu, true}};
}

graph::OpGraph build_gpt_neox(const Parameters& p) {
  Decoder decoder = rotary_decoder(p, read_layers(p, read_neox_layer(p)));
  decoder.norm = NormKind::layer;
  return build_decoder(p.model(), p.element_bytes(), decoder);
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
