#pragma once
// The part of a perturbation file about lengths of sequences.

#include "penstock/core/yaml.hpp"
#include "penstock/sim/lengths.hpp"

namespace penstock::sim {

/// Throws BadInput with file, line and key.
Lengths read_lengths(const core::Yaml& node);

}  // namespace penstock::sim
