#pragma once
// Which cells of a grid are wanted.

#include <map>
#include <string>
#include <vector>

#include "penstock/core/yaml.hpp"
#include "penstock/experiment/spec.hpp"

namespace penstock::experiment {

/// What a cell has under each key, as the file writes it; files by their names without folder and ending, a
/// model with its parameters, of which an item may leave out some: "llama layers=6".
using Values = std::map<std::string, std::string>;

/// [i]: whether some item of `include` fits the i-th cell (always, where the file has none) and no item of
/// `exclude` does. An item is a mapping from keys to a value or a list of values; it fits cells that have one
/// of the values under each. All cells have the same keys. Throws BadInput for an unknown key, and for an
/// item that fits no cell.
std::vector<bool> wanted(const core::Yaml& root, const std::vector<Values>& grid);

/// [i]: whether some of the texts, "model=mmt,devices=8", fits the i-th cell; without any, all do. Throws
/// BadInput as wanted does.
std::vector<bool> fitting(const std::vector<std::string>& texts, const std::vector<Cell>& cells);

/// The wanted cells of a grid, by model, cluster, devices, mini_batch, planner and the further axes of the
/// file.
std::vector<Cell> select(const core::Yaml& root, const std::vector<Cell>& grid);

}  // namespace penstock::experiment
