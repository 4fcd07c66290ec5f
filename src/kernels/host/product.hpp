#pragma once
// Batched products of matrices, as steps of a program.

#include "host/kernel.hpp"

namespace penstock::kernels::host {

/// View of the matrix with its last two axes exchanged.
PlacedTensor transposed(const PlacedTensor& matrix);
/// c = factor a b, over equal leading axes.
void multiply(KernelProgram& program, const PlacedTensor& a, const PlacedTensor& b, const PlacedTensor& c,
              float factor = 1);

}  // namespace penstock::kernels::host
