#pragma once
// A model in the form in which people and training frameworks cut it: embedding, sequence of equal layers,
// head.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::plan {

/// Parts of the model. Part 0 is everything before the first layer (embeddings). Parts 1 to `layers` are the
/// layers. Part layers + 1 is everything behind them (norm, head, loss).
struct LayerRow {
  std::int32_t layers = 0;
  std::vector<std::int32_t> part_of;  ///< [OpId] part
  std::string layer_name;             ///< name of a layer without its number: "layer", "chain.layer"

  std::int32_t parts() const { return layers + 2; }
  std::int32_t head() const { return layers + 1; }
};

/// Returns the parts of the model, or a text that explains why it has no such form. Operators are recognised
/// by name (plan::layer_of); each part may read only itself and the part before it.
std::variant<LayerRow, std::string> layer_row(const graph::OpGraph& graph);

}  // namespace penstock::plan
