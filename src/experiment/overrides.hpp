#pragma once
// Values that are set from outside before a file is read.

#include "penstock/core/yaml.hpp"
#include "penstock/experiment/spec.hpp"

namespace penstock::experiment {

/// Throws BadInput for a text that is no KEY=VALUE, and as core::Yaml::set.
void apply(const Overrides& overrides, core::Yaml& root);

}  // namespace penstock::experiment
