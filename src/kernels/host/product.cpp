#include "host/product.hpp"

#include <algorithm>
#include <numeric>

#include "geometry.hpp"

namespace penstock::kernels::host {

PlacedTensor transposed(const PlacedTensor& matrix) {
  const auto axes = static_cast<std::size_t>(matrix.layout.dims().size());
  std::vector<int> order(axes);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axes - 1], order[axes - 2]);
  return {matrix.where, matrix.layout.permute_axes(order)};
}

void multiply(KernelProgram& program, const PlacedTensor& a, const PlacedTensor& b, const PlacedTensor& c,
              float factor) {
  dnnl::primitive_attr attributes = own_scratchpad();
  if (factor != 1) attributes.set_output_scales(0, {factor});
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a.layout, b.layout, c.layout), attributes,
                                                 program.engine());
  program.primitive(description, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
}

void build_matmul(KernelDraft& draft) {
  const Product p = matmul(draft.op);
  const std::int64_t batch = draft.samples * p.batch;
  const Desc a = plain({batch, p.rows, p.inner}, draft.type),
             b = plain({batch, p.inner, p.columns}, draft.type),
             y = plain({batch, p.rows, p.columns}, draft.type);
  multiply(draft.forward, {input(0), a}, {input(1), b}, {kOutput, y});
  const PlacedTensor gradient{kOutputGradient, y};
  multiply(draft.input_gradient, gradient, transposed({input(1), b}), {input_gradient(0), a});
  multiply(draft.input_gradient, transposed({input(0), a}), gradient, {input_gradient(1), b});
}

}  // namespace penstock::kernels::host
