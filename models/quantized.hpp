#pragma once
// Layers that multiply in 8 or 4 bits.

#include "penstock/graph/op_graph.hpp"

namespace penstock::models {

/// Returns the graph with layers that multiply in `format` as Transformer Engine's modules do under Megatron-LM:
/// dense layers, projections of attention, experts. The core of attention, norms, scans, routers, embeddings and
/// the head keep 16 bits. Saved activations follow (transformer_engine/pytorch/module/linear.py): what such a
/// layer reads is saved once, in the format, by columns, as its weight gradient reads it. Where another gradient
/// reads the 16-bit tensor too, both are saved.
graph::OpGraph quantized(const graph::OpGraph& graph, graph::ProductFormat format);

}  // namespace penstock::models
