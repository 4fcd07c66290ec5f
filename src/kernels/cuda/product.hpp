#pragma once
// Products of matrices by cuBLASLt, as steps of a program.

#include "cuda/program.hpp"
#include "penstock/kernels/precision.hpp"

namespace penstock::kernels::cuda {

struct Libraries;

/// A matrix that lies row by row, or many of them one after another.
struct Factor {
  Where where;
  bool transposed = false;  ///< it lies as its transpose
};

/// c (rows x columns) = factor a (rows x inner) b (inner x columns), then the bias is added to every row and
/// a relu applied, where there are such; `batch` times, but with a bias once only.
struct ProductSizes {
  std::int64_t rows, inner, columns, batch = 1;
  float factor = 1;
  bool bias = false, relu = false;
};

/// What cuBLASLt is asked for, which takes matrices column by column: what lies row by row is to it the
/// transpose, and c^T = b^T a^T. Its bias, one number per row of its result, is ours, one per column.
struct Asked {
  struct Matrix {
    std::int64_t rows, columns;  ///< as it lies; columns follow each other without a gap
    bool transposed;             ///< before it is multiplied
  };
  Matrix first, second, result;  ///< result = first second; of b, a and c
};
Asked asked(const ProductSizes& sizes, bool a_transposed, bool b_transposed);

/// The kernel is chosen here, by heuristics, among those that need no more than kMostWorkspace bytes and add
/// up in fp32. `bias` counts where the sizes say so. Throws BadInput where the library has none.
void multiply(Program& program, Libraries& libraries, Precision precision, const ProductSizes& sizes,
              Factor a, Factor b, Where c, Where bias = {});

constexpr std::int64_t kMostWorkspace = std::int64_t{32} << 20;

}  // namespace penstock::kernels::cuda
