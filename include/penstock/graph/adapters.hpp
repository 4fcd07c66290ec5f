#pragma once
// Low-rank adapters beside products whose weights do not train (Hu et al., LoRA, ICLR 2022).

#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// One adapter: rows x in -> rows x rank -> rows x out, scaled and added to what its product makes.
struct AdapterShape {
  std::int64_t rows = 0;  ///< of a sample
  std::int64_t in = 0, out = 0;
  bool by_columns = true;  ///< its product is column-parallel in a tensor-parallel group
};

/// Adapters of an operator, as of Megatron-Bridge's `linear_qkv`, `linear_proj`, `linear_fc1`, `linear_fc2`. A
/// dense layer has one. Self-attention has one over query, key and value together, and one of its output. Other
/// attention has one for each projection. None of an operator without a rank.
std::vector<AdapterShape> adapters(const Operator& op);
/// Adapters that an operator would have: those of a rank.
std::vector<AdapterShape> adapter_shapes(const Operator& op);

/// True if the operator's own products have a weight gradient: beside adapters they have none.
bool trains_products(const Operator& op);

/// Numbers that the adapters train.
std::int64_t adapter_numbers(const Operator& op);
/// FLOPs of the adapters' products in one pass over a sample. Forward pass, gradients of inputs and of weights
/// have equally many.
core::Flops adapter_flops(const Operator& op);
/// Numbers that the adapters save for a sample beside their input: what the first product makes.
std::int64_t adapter_saved(const Operator& op);

}  // namespace penstock::graph
