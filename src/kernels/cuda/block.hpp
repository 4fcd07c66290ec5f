#pragma once
// Copies of blocks of elements, as steps of a program.

#include "cuda/program.hpp"

namespace penstock::kernels::cuda {

/// A block of columns of a matrix: `rows` x `width` within rows of length `whole`.
struct ColumnBlock {
  std::int64_t rows, whole, offset, width;  ///< elements
};
void copy_into(Program& program, Element element, const ColumnBlock& block, Where part, Where matrix);
void copy_out_of(Program& program, Element element, const ColumnBlock& block, Where matrix, Where part);

/// samples x tokens x heads x head, or with tokens and heads exchanged.
struct Heads {
  std::int64_t samples, tokens, heads, head;
  std::int64_t count() const { return samples * tokens * heads * head; }
};
void tokens_to_heads(Program& program, Element element, const Heads& h, Where by_token, Where by_head);
void heads_to_tokens(Program& program, Element element, const Heads& h, Where by_head, Where by_token);

}  // namespace penstock::kernels::cuda
