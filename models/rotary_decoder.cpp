#include "models/rotary_decoder.hpp"

#include "models/blocks.hpp"

namespace penstock::models {

Decoder rotary_decoder(const Parameters& p, std::vector<DecoderLayer> layers) {
  Decoder out;
  out.vocabulary = p.integer("vocabulary", 1, 10 * kWidest);
  out.width = p.integer("hidden", 1, kWidest);
  out.tokens = p.integer("sequence", 1, 16 * kWidest);
  out.layers = std::move(layers);
  out.tied_head = p.flag("tied_head");
  out.loss = read_loss(p);
  return out;
}

std::vector<DecoderLayer> read_layers(const Parameters& p, const DecoderLayer& layer) {
  return std::vector<DecoderLayer>(static_cast<std::size_t>(p.integer("layers", 1, kDeepest)), layer);
}

}  // namespace penstock::models
