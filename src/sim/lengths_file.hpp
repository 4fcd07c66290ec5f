#pragma once
// The part of a perturbation file about sequence lengths.

#include "penstock/core/yaml.hpp"
#include "penstock/sim/lengths.hpp"

namespace penstock::sim {

/// Reads the lengths. Throws BadInput with file, line and key.
SequenceLengths read_lengths(const core::Yaml& node);

}  // namespace penstock::sim
