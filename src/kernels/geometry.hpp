#pragma once
// What the `shape` of an operator means: its extents by name, one struct per kind. Per sample.
// Each reader throws BadInput naming the operator and the extent that is missing or out of range.

#include <array>
#include <cstdint>
#include <vector>

#include "penstock/graph/op_graph.hpp"

namespace penstock::kernels {

/// After none as in graph::kFunctions; gelu by the error function.
enum class Function : std::uint8_t { none, relu, sigmoid, tanh, gelu };

/// rows x in -> rows x out; weights are out x in, as the table of a tied embedding.
struct Linear {
  std::int64_t rows, in, out;
  bool bias;
  Function fused;
};

struct Product {
  std::int64_t batch, rows, inner, columns;
};

/// Index 0 is height, 1 is width.
struct Window {
  std::int64_t channels;
  std::array<std::int64_t, 2> image, kernel, stride, padding;
  std::int64_t output(std::size_t axis) const {
    return (image[axis] + 2 * padding[axis] - kernel[axis]) / stride[axis] + 1;
  }
};

struct Convolution {
  Window window;
  std::int64_t out;
  bool bias;
};

/// An average counts the padding as zeros.
struct Pool {
  Window window;
  bool average;
};

/// Over each row, or for `batch` over all rows of all samples, per channel.
struct Norm {
  std::int64_t rows, channels;
  bool batch;
};

struct Matrix {
  std::int64_t rows, width;
};

struct Activation {
  std::int64_t elements;
  Function function;
};

/// A sum of its terms, or their product.
struct Elementwise {
  std::int64_t elements, terms;
  bool product;
};

/// Softmax of scaled scores, without mask; queries, keys and values are projected to `inner`, their result
/// back to `hidden`. Some of the heads of a larger one have a smaller `inner`, and leave the last bias to
/// others.
struct Attention {
  std::int64_t queries, keys, hidden, heads, key_width, value_width, inner;
  bool bias, last_bias;
  std::int64_t head() const { return inner / heads; }
  float scale() const;  ///< of the scores: 1 / sqrt(head)
};

/// `rows` of a table of `table` rows, from `first` on: looking up another row makes zeros.
struct Embedding {
  std::int64_t lookups, rows, width, first, table;
  bool sum;
};

/// Rows of `widths` side by side.
struct Concat {
  std::int64_t rows;
  std::vector<std::int64_t> widths;
};

constexpr float kNormEpsilon = 1e-5f;

Linear linear(const graph::Operator& op);
Product matmul(const graph::Operator& op);
Convolution convolution(const graph::Operator& op);
Pool pool(const graph::Operator& op);
Norm norm(const graph::Operator& op);
Matrix softmax(const graph::Operator& op);
Activation activation(const graph::Operator& op);
Elementwise elementwise(const graph::Operator& op);
Attention attention(const graph::Operator& op);
Embedding embedding(const graph::Operator& op);
Concat concat(const graph::Operator& op);

}  // namespace penstock::kernels
