#pragma once
// Faults of values get the place of the node that holds them.

#include "penstock/core/yaml.hpp"

namespace penstock::experiment {

/// Runs `check`; a BadInput it throws gets the node's file, line and key in front.
template <class F>
decltype(auto) at_node(const core::Yaml& node, F&& check) {
  try {
    return check();
  } catch (const core::BadInput& e) {
    node.fail(e.what());
  }
}

}  // namespace penstock::experiment
