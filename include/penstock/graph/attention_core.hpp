#pragma once
// The core of attention: scores, softmax and the weighted sum of values, without the projections around them.

#include <span>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// True if an operator has a core inside: attention, which has its projections beside it.
bool has_core(const Operator& op);

/// Bytes per sample that the core keeps beside its inputs and its context; zero of operators without a core.
/// Plain core: the shares, heads x queries x keys numbers, with dropout twice and a byte more. Flash core:
/// for each query and head, what its shares were divided by, in fp32 (Dao, FlashAttention-2, 2023, section
/// 3.1).
core::Bytes core_bytes(const Operator& op, int element_bytes);

/// Part of the operator's forward FLOPs that are the core's, between 0 and 1.
double core_share(const Operator& op);

/// Share of the pairs of a query and a key that the mask leaves; above 0, at most 1. A causal mask leaves half,
/// as Megatron-LM counts. A shard with some queries and all keys has an equal share: context groups give every
/// device a block from either end of the sequence.
double unmasked_share(const Attention& attention);

/// Cores among these that are operators of their own: a product, the softmax over it, and the product that
/// weighs values by it. Each ascending, by their first operator.
std::vector<std::vector<core::OpId>> split_cores(const OpGraph& graph, std::span<const core::OpId> operators);

}  // namespace penstock::graph
