#pragma once
// Adds the place of a YAML node to errors about its value.

#include "penstock/core/yaml.hpp"

namespace penstock::experiment {

/// Runs `check`; a BadInput it throws is rethrown with the node's file, line and key.
template <class F>
decltype(auto) at_node(const core::Yaml& node, F&& check) {
  try {
    return check();
  } catch (const core::BadInput& e) {
    node.fail(e.what());
  }
}

}  // namespace penstock::experiment
