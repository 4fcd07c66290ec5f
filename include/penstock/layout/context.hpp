#pragma once
// Context parallelism: every operator divided by the tokens of its samples.

#include <optional>
#include <string>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/layout/convert.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::layout {

/// Why an operator cannot be divided by tokens over so many groups, in words that follow its name; nothing
/// where it can.
std::optional<std::string> token_violation(const graph::OpGraph& graph, core::OpId op, int context);

/// One group's part of an operator, as an operator of its own: tokens, and with them FLOPs and bytes, are
/// divided, weights are not. Attention has its part of the queries and of the keys that it projects, and
/// meets all keys. Its groups have as much to do as each other: Penstock counts no mask, and under a causal
/// one each is taken to have both early and late tokens (Llama 3, section 3.3.2; Megatron-LM's zig-zag).
/// Precondition: there is no violation.
graph::Operator token_shard(const graph::Operator& op, int context);

/// The model as one context group computes it, operator by operator.
graph::OpGraph local_graph(const graph::OpGraph& graph, int context);

/// What attention's groups exchange, of whole tensors with all tokens and heads, per sample. Zero of
/// operators without tokens of others to meet.
struct ContextTensors {
  core::Bytes queries, keys_values, output;
};
ContextTensors context_tensors(const graph::Operator& op, int element_bytes);

/// How attention meets the tokens of other groups. Gathered: keys and values of all before its pass, again
/// before its gradients, whose own gradients are scattered behind (Transformer Engine). Traded (Ulysses):
/// queries, keys and values for heads, the output back, and their gradients likewise. None of a ring, whose
/// hops run along with attention.
Collectives context_collectives(core::OpId op, const ContextTensors& tensors, plan::ContextExchange exchange);

/// Violations in words, operator by operator: without tokens that the groups of its stage divide; a batch
/// norm, whose statistics are over all tokens; heads that Ulysses' groups do not divide.
std::vector<std::string> context_violations(const graph::OpGraph& graph, const plan::Plan& plan);

}  // namespace penstock::layout
