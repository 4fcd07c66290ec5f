#include "cuda/product.hpp"

namespace penstock::kernels::cuda {

BlasArguments asked(const ProductSizes& s, bool a_transposed, bool b_transposed) {
  BlasArguments::BlasMatrix first{s.columns, s.inner, b_transposed}, second{s.inner, s.rows, a_transposed};
  if (b_transposed) std::swap(first.rows, first.columns);
  if (a_transposed) std::swap(second.rows, second.columns);
  return {first, second, {s.columns, s.rows, false}};
}

}  // namespace penstock::kernels::cuda
