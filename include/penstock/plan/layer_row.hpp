#pragma once
// A model as people and training frameworks cut it: an embedding, a row of equal layers, a head.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::plan {

/// Parts of the row: 0 is what stands before the first layer (embeddings), 1 to `layers` are the layers,
/// layers + 1 is what stands behind them (norm, head, loss).
struct LayerRow {
  std::int32_t layers = 0;
  std::vector<std::int32_t> part_of;  ///< by OpId
  std::string layer_name;             ///< of a layer, without its number: "layer", "chain.layer"

  std::int32_t parts() const { return layers + 2; }
  std::int32_t head() const { return layers + 1; }
};

/// The model as a row, or in words why it is none: operators are told by their names (plan::layer_of), and
/// each part reads itself and the part before it alone.
std::variant<LayerRow, std::string> layer_row(const graph::OpGraph& graph);

}  // namespace penstock::plan
