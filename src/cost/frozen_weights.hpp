#pragma once
// Private to the room: products whose weights do not train (graph/adapters.hpp, graph/frozen_format.hpp).

#include "penstock/graph/op_graph.hpp"

namespace penstock::cost {

/// Matrices of frozen weights that are written in the model's numbers before products read them (bitsandbytes'
/// Linear4bit). None where products read 8 bits themselves.
int widened_matrices(const graph::Operator& op);
/// Bytes that this reads and writes, once.
double widening_bytes(const graph::OpGraph& graph, core::OpId op);
/// Bytes of the largest such matrix, which is there while its product runs.
core::Bytes widened_bytes(const graph::OpGraph& graph, core::OpId op);

}  // namespace penstock::cost
