#pragma once
// Products of matrices by cuBLASLt, as steps of a program.

#include "cuda/program.hpp"
#include "penstock/kernels/precision.hpp"

namespace penstock::kernels::cuda {

struct LibraryHandles;

/// A row-major matrix, or several of them one after another.
struct ProductFactor {
  TensorLocation where;
  bool transposed = false;  ///< stored as its transpose
};

/// c (rows x columns) = factor a (rows x inner) b (inner x columns). Then the bias is added to every row and
/// a relu applied, if given; `batch` times, but only once with a bias.
struct ProductSizes {
  std::int64_t rows, inner, columns, batch = 1;
  float factor = 1;
  bool bias = false, relu = false;
};

/// Arguments for cuBLASLt, which expects column-major matrices. A row-major matrix is its transpose there,
/// and c^T = b^T a^T. Its bias, one number per row of its result, is ours, one per column.
struct BlasArguments {
  struct BlasMatrix {
    std::int64_t rows, columns;  ///< as stored; columns follow each other without a gap
    bool transposed;             ///< before it is multiplied
  };
  BlasMatrix first, second, result;  ///< result = first second; of b, a and c
};
BlasArguments asked(const ProductSizes& sizes, bool a_transposed, bool b_transposed);

/// Chooses the kernel by heuristics, among those that need at most kMostWorkspace bytes and accumulate in
/// fp32. `bias` is used if the sizes include one. Throws BadInput if the library has none.
void multiply(KernelProgram& program, LibraryHandles& libraries, Precision precision,
              const ProductSizes& sizes, ProductFactor a, ProductFactor b, TensorLocation c,
              TensorLocation bias = {});

constexpr std::int64_t kMostWorkspace = std::int64_t{32} << 20;

}  // namespace penstock::kernels::cuda
