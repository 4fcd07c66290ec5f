#pragma once
// Core of attention, between its projections, head by head.

#include "geometry.hpp"
#include "host/kernel.hpp"

namespace penstock::kernels::host {

/// Order of inputs, weights and biases.
enum ProjectionIndex : std::size_t { kQuery, kKey, kValue, kResult };

/// Projected tensors of all samples, in the layout of products.
struct AttentionHeads {
  std::int64_t samples;
  AttentionShape a;
  Type type;

  /// View samples x heads x tokens x head of a tensor stored as samples x tokens x inner.
  PlacedTensor by_head(TensorLocation where, std::int64_t tokens) const {
    const Dims strides = {tokens * a.inner, a.head(), a.inner, 1};
    return {where, Desc({samples, a.heads, tokens, a.head()}, type, strides)};
  }
  PlacedTensor queries(TensorLocation where) const { return by_head(where, a.queries); }
  PlacedTensor keys(TensorLocation where) const { return by_head(where, a.keys); }
  PlacedTensor scores(TensorLocation where) const {
    return {where, plain({samples, a.heads, a.queries, a.keys}, type)};
  }
  std::int64_t rows() const { return samples * a.heads * a.queries; }  ///< rows of scores
  Desc score_rows() const { return plain({rows(), a.keys}, type); }
};

}  // namespace penstock::kernels::host
