#pragma once
// Context parallelism: every operator is divided by the tokens of its samples.

#include <optional>
#include <string>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/layout/convert.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::layout {

/// Reason why an operator cannot be divided by tokens over `context` groups, in words that follow its name;
/// nothing if it can.
std::optional<std::string> token_violation(const graph::OpGraph& graph, core::OpId op, int context);

/// Returns one context group's shard of an operator: its tokens, FLOPs and bytes are divided, its weights are
/// not. Attention has its part of the queries and of the projected keys, and attends to all keys. All groups
/// have equal work: with a causal mask each group has early and late tokens (Llama 3, section 3.3.2;
/// Megatron-LM's zig-zag). Precondition: token_violation returns nothing.
graph::Operator token_shard(const graph::Operator& op, int context);

/// Returns the model as one context group computes it, operator by operator.
graph::OpGraph local_graph(const graph::OpGraph& graph, int context);

/// Tensors that attention's context groups exchange: bytes per sample of the whole tensors, with all tokens
/// and heads. Zero for operators that need no tokens of other groups.
struct ContextTensors {
  core::Bytes queries, keys_values, output;
};
ContextTensors context_tensors(const graph::Operator& op, int element_bytes);

/// Collectives with which attention gets the tokens of other groups. Gather: keys and values are all-gathered
/// before the forward pass and again before the backward pass, and their gradients reduce-scattered after it
/// (Transformer Engine). Ulysses: an all-to-all exchanges tokens for heads of queries, keys and values,
/// another returns the output, and gradients take the same way back. Ring: no collectives, because its hops
/// overlap with attention.
Collectives context_collectives(core::OpId op, const ContextTensors& tensors, plan::ContextExchange exchange);

/// Violations in words, one per operator. The operator has no tokens that the groups of its stage divide, or
/// is a batch norm, whose statistics need all tokens. Or it is a scan or a short convolution, whose tokens need
/// those before them. Or Ulysses' groups do not divide its heads.
std::vector<std::string> context_violations(const graph::OpGraph& graph, const plan::Plan& plan);

}  // namespace penstock::layout
