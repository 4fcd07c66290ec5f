#pragma once
// The parameters that Llama and its relatives share, and the decoder that they describe.

#include <vector>

#include "models/decoder.hpp"
#include "models/parameters.hpp"

namespace penstock::models {

/// Reads parameters vocabulary, hidden, sequence, tied_head and loss of a decoder with these layers.
Decoder rotary_decoder(const Parameters& p, std::vector<DecoderLayer> layers);

/// Equal layers; parameter `layers` is their number.
std::vector<DecoderLayer> read_layers(const Parameters& p, const DecoderLayer& layer);

}  // namespace penstock::models
