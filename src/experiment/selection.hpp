#pragma once
// Which cells of a grid are wanted.

#include <vector>

#include "penstock/core/yaml.hpp"
#include "penstock/experiment/spec.hpp"

namespace penstock::experiment {

/// Keeps the cells that some item of `include` fits (all, where the file has none) and that no item of
/// `exclude` fits. An item is a mapping from model, cluster, devices, mini_batch, planner or a further axis
/// of the file to a value or a list of values; it fits cells that have one of the values under each key.
/// Throws BadInput for an unknown key, and for an item that fits no cell of the grid.
std::vector<Cell> select(const core::Yaml& root, const std::vector<Cell>& grid);

}  // namespace penstock::experiment
