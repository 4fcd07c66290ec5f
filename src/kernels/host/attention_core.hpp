#pragma once
// Core of attention, between its projections, head by head.

#include "geometry.hpp"
#include "host/kernel.hpp"

namespace penstock::kernels::host {

/// Order of inputs, weights and biases.
enum Projection : std::size_t { kQuery, kKey, kValue, kResult };

/// Projected tensors of all samples, in the layout of products.
struct Heads {
  std::int64_t samples;
  Attention a;
  Type type;

  /// View samples x heads x tokens x head of a tensor stored as samples x tokens x inner.
  Laid by_head(Where where, std::int64_t tokens) const {
    const Dims strides = {tokens * a.inner, a.head(), a.inner, 1};
    return {where, Desc({samples, a.heads, tokens, a.head()}, type, strides)};
  }
  Laid queries(Where where) const { return by_head(where, a.queries); }
  Laid keys(Where where) const { return by_head(where, a.keys); }
  Laid scores(Where where) const { return {where, plain({samples, a.heads, a.queries, a.keys}, type)}; }
  std::int64_t rows() const { return samples * a.heads * a.queries; }  ///< rows of scores
  Desc score_rows() const { return plain({rows(), a.keys}, type); }
};

}  // namespace penstock::kernels::host
