#pragma once
// Allowed names of an experiment.

#include <string>

#include "penstock/core/yaml.hpp"

namespace penstock::experiment {

/// Reads a name; throws BadInput for a text that is none.
inline std::string read_name(const core::Yaml& node) {
  const std::string name = node.text();
  if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") != std::string::npos ||
      name.front() == '-')  // commands would take the folder for an option
    node.fail("the name becomes a folder: expected lower-case letters, digits, - and _, no - in front");
  return node.text();
}

}  // namespace penstock::experiment
