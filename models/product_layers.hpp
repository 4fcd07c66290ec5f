#pragma once
// Layers whose weights the formats of a training may narrow.

#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::models {

/// [operator] true for dense layers, attention and experts. False for routers of experts and for heads, which
/// Transformer Engine and bitsandbytes leave in 16 bits.
std::vector<bool> product_layers(const graph::OpGraph& graph);

}  // namespace penstock::models
