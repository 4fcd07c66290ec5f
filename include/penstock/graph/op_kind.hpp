#pragma once
// The kinds of operators.

#include <cstdint>
#include <string_view>

namespace penstock::graph {

enum class OpKind : std::uint8_t {
  input,      ///< a tensor that enters from outside; no work
  linear,     ///< dense layer
  attention,  ///< multi-head attention, projections included
  embedding,  ///< table look-up, optionally summed over a bag
  convolution,
  matmul,       ///< product of two activations, no parameters
  norm,         ///< layer or batch normalisation
  activation,   ///< element-wise function of one tensor
  elementwise,  ///< sum, product of several tensors of one shape
  pool,
  softmax,
  concat,
  reshape,   ///< change of view; no work
  profiled,  ///< known only through an imported profile
  experts,   ///< feed-forwards of which every token takes some: a mixture of experts behind its router
  scan,      ///< linear attention or a state space: a state that every token updates and reads
  short_convolution,  ///< causal convolution of each channel along the tokens
};

std::string_view name(OpKind kind);
/// Throws BadInput for an unknown name.
OpKind op_kind(std::string_view name);

}  // namespace penstock::graph
