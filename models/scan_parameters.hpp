#pragma once
// Mixers of hybrid language models in the parameters of family `decoder`.

#include <optional>
#include <string>
#include <vector>

#include "models/decoder.hpp"
#include "models/parameters.hpp"

namespace penstock::models {

/// Every mixer of this kind that a word of `mixers` may name.
struct ScanChoice {
  StateSpace space;
  SelectiveScan selective;
  DeltaNet delta;
  GatedConvolution convolution;
};

std::vector<ParameterInfo> scan_parameters();
ScanChoice read_scans(const Parameters& p);

/// The mixer of the word state_space, selective, delta or convolution; nothing for another word. Throws BadInput
/// naming a parameter that the mixer needs and that is 0.
std::optional<Mixer> scan_mixer(const Parameters& p, const std::string& word, const ScanChoice& all);

}  // namespace penstock::models
