#pragma once
// Values that are set from outside before a file is read.

#include "penstock/core/yaml.hpp"
#include "penstock/experiment/spec.hpp"

namespace penstock::experiment {

/// Applies overrides. Throws BadInput for a text without KEY=VALUE, and like core::Yaml::set.
void apply(const Overrides& overrides, core::Yaml& root);

}  // namespace penstock::experiment
