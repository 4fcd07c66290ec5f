#pragma once
// What an experiment may be called.

#include <string>

#include "penstock/core/yaml.hpp"

namespace penstock::experiment {

/// Throws BadInput for a text that is no name.
inline std::string read_name(const core::Yaml& node) {
  if (node.text().find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") != std::string::npos)
    node.fail("the name becomes a folder: expected lower-case letters, digits, - and _");
  return node.text();
}

}  // namespace penstock::experiment
