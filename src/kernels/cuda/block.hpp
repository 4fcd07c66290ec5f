#pragma once
// Copies of blocks of elements, as steps of a program.

#include "cuda/program.hpp"

namespace penstock::kernels::cuda {

/// A block of columns of a matrix: `rows` x `width` within rows of length `whole`.
struct ColumnBlock {
  std::int64_t rows, whole, offset, width;  ///< elements
};
void copy_into(KernelProgram& program, Element element, const ColumnBlock& block, TensorLocation part,
               TensorLocation matrix);
void copy_out_of(KernelProgram& program, Element element, const ColumnBlock& block, TensorLocation matrix,
                 TensorLocation part);

/// samples x tokens x heads x head, or with tokens and heads exchanged.
struct HeadShape {
  std::int64_t samples, tokens, heads, head;
  std::int64_t count() const { return samples * tokens * heads * head; }
};
void tokens_to_heads(KernelProgram& program, Element element, const HeadShape& h, TensorLocation by_token,
                     TensorLocation by_head);
void heads_to_tokens(KernelProgram& program, Element element, const HeadShape& h, TensorLocation by_head,
                     TensorLocation by_token);

}  // namespace penstock::kernels::cuda
