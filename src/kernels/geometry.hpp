#pragma once
// Attributes of an operator that kernels need: complete, in range, with defaults filled in, per sample. Each
// function throws BadInput naming the operator and the extent that is missing or out of range.

#include <cstdint>

#include "penstock/graph/op_graph.hpp"

namespace penstock::kernels {

using graph::Activation, graph::Concat, graph::Convolution, graph::Elementwise, graph::Experts,
    graph::Function, graph::Linear, graph::Pool, graph::Softmax, graph::Window;
using Product = graph::Matmul;

/// Norm over each row or, for `batch`, over all rows of all samples, per channel.
struct NormShape {
  std::int64_t rows, channels;
  bool batch;
};

/// Softmax of scaled scores, without mask. Queries, keys and values are projected to `inner`, their result
/// back to `hidden`. A subset of the heads of a larger attention has a smaller `inner`, and leaves the last
/// bias to others.
struct AttentionShape {
  std::int64_t queries, keys, hidden, heads, key_width, value_width, inner;
  bool bias, last_bias;
  std::int64_t head() const { return inner / heads; }
  float scale() const;  ///< scale of the scores: 1 / sqrt(head)
};

/// `rows` of a table of `table` rows, from `first` on: looking up another row gives zeros.
struct EmbeddingShape {
  std::int64_t lookups, rows, width, first, table;
  bool sum;
};

constexpr float kNormEpsilon = 1e-5f;

Linear linear(const graph::Operator& op);
Product matmul(const graph::Operator& op);
Convolution convolution(const graph::Operator& op);
Pool pool(const graph::Operator& op);
NormShape norm(const graph::Operator& op);
Softmax softmax(const graph::Operator& op);
Activation activation(const graph::Operator& op);
Elementwise elementwise(const graph::Operator& op);
AttentionShape attention(const graph::Operator& op);
EmbeddingShape embedding(const graph::Operator& op);
Concat concat(const graph::Operator& op);
Experts experts(const graph::Operator& op);

}  // namespace penstock::kernels
