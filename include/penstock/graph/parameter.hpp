#pragma once
// Trainable numbers, which have an identity: operators that name one parameter are tied.

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/core/ids.hpp"

namespace penstock::graph {

/// Parameters that an operator trains, its matrices and biases together.
struct Parameter {
  std::string name;               ///< of the operator that brings it
  std::int64_t count = 0;         ///< of numbers, OpGraph::element_bytes() each
  std::vector<core::OpId> users;  ///< ascending; the first one brings it
  core::OpId owner() const { return users.front(); }
  bool tied() const { return users.size() > 1; }
};

using ParameterId = core::Id<Parameter>;  ///< position among OpGraph::all_parameters

}  // namespace penstock::graph
