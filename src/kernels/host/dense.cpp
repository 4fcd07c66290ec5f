#include "host/dense.hpp"

namespace penstock::kernels::host {
namespace {

using DenseForward = dnnl::inner_product_forward;
using DenseToInput = dnnl::inner_product_backward_data;
using DenseToWeights = dnnl::inner_product_backward_weights;

DenseForward::primitive_desc forward_of(const KernelProgram& program, const DenseShape& d,
                                        const dnnl::primitive_attr& attributes) {
  return {DenseForward::desc(dnnl::prop_kind::forward_training, d.x(), d.weights(), d.shift(), d.y()),
          attributes, program.engine()};
}

}  // namespace

void dense_forward(KernelProgram& program, const DenseShape& d, TensorLocation x, TensorLocation weights,
                   TensorLocation bias, TensorLocation y, const dnnl::post_ops& after) {
  dnnl::primitive_attr attributes = own_scratchpad();
  attributes.set_post_ops(after);
  std::vector<std::pair<int, PlacedTensor>> arguments = {
      {DNNL_ARG_SRC, {x, d.x()}}, {DNNL_ARG_WEIGHTS, {weights, d.weights()}}, {DNNL_ARG_DST, {y, d.y()}}};
  if (d.bias) arguments.push_back({DNNL_ARG_BIAS, {bias, d.shift()}});
  program.primitive(forward_of(program, d, attributes), arguments);
}

void dense_input_gradient(KernelProgram& program, const DenseShape& d, TensorLocation y_gradient,
                          TensorLocation weights, TensorLocation x_gradient) {
  const DenseToInput::primitive_desc description(DenseToInput::desc(d.x(), d.weights(), d.y()),
                                                 own_scratchpad(), program.engine(),
                                                 forward_of(program, d, own_scratchpad()));
  program.primitive(description, {{DNNL_ARG_DIFF_DST, {y_gradient, d.y()}},
                                  {DNNL_ARG_WEIGHTS, {weights, d.weights()}},
                                  {DNNL_ARG_DIFF_SRC, {x_gradient, d.x()}}});
}

void dense_weight_gradient(KernelProgram& program, const DenseShape& d, TensorLocation x,
                           TensorLocation y_gradient, TensorLocation weights_gradient,
                           TensorLocation bias_gradient) {
  const DenseToWeights::primitive_desc description(DenseToWeights::desc(d.x(), d.weights(), d.shift(), d.y()),
                                                   own_scratchpad(), program.engine(),
                                                   forward_of(program, d, own_scratchpad()));
  std::vector<std::pair<int, PlacedTensor>> arguments = {
      {DNNL_ARG_SRC, {x, d.x()}},
      {DNNL_ARG_DIFF_DST, {y_gradient, d.y()}},
      {DNNL_ARG_DIFF_WEIGHTS, {weights_gradient, d.weights()}}};
  if (d.bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, {bias_gradient, d.shift()}});
  program.primitive(description, arguments);
}

}  // namespace penstock::kernels::host
