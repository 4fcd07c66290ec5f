#pragma once
// Batched products of matrices, as steps of a program.

#include "host/kernel.hpp"

namespace penstock::kernels::host {

/// View of the matrix with its last two axes exchanged.
Laid transposed(const Laid& matrix);
/// c = factor a b, over equal leading axes.
void multiply(Program& program, const Laid& a, const Laid& b, const Laid& c, float factor = 1);

}  // namespace penstock::kernels::host
