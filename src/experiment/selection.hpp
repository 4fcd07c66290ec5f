#pragma once
// Selection of cells from a grid.

#include <map>
#include <string>
#include <vector>

#include "penstock/core/yaml.hpp"
#include "penstock/experiment/spec.hpp"

namespace penstock::experiment {

/// Values of a cell by key, as written in the file; files without folder and extension. A model has its
/// parameters, of which an item may leave out some: "llama layers=6".
using Values = std::map<std::string, std::string>;

/// [cell] true if some item of `include` matches (always true without one) and no item of `exclude` does. An
/// item maps keys to a value or a list of values; it matches cells that have one of the values under each
/// key. All cells have the same keys. Throws BadInput for an unknown key, and for an item that matches no
/// cell.
std::vector<bool> wanted(const core::Yaml& root, const std::vector<Values>& grid);

/// [cell] true if some of the texts, such as "model=mmt,devices=8", matches; always true without texts.
/// Throws BadInput like `wanted`.
std::vector<bool> fitting(const std::vector<std::string>& texts, const std::vector<Cell>& cells);

/// Selected cells of a grid, by model, cluster, devices, mini_batch, planner and the further axes of the
/// file.
std::vector<Cell> select(const core::Yaml& root, const std::vector<Cell>& grid);

}  // namespace penstock::experiment
