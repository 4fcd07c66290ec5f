#include "host/function.hpp"

#include "penstock/core/error.hpp"

namespace penstock::kernels::host {
namespace {

using dnnl::algorithm;
using FunctionForward = dnnl::eltwise_forward;
using FunctionBackward = dnnl::eltwise_backward;

algorithm forward_algorithm(Function function) {
  switch (function) {
    case Function::relu:
      return algorithm::eltwise_relu;
    case Function::sigmoid:
      return algorithm::eltwise_logistic;
    case Function::tanh:
      return algorithm::eltwise_tanh;
    case Function::gelu:
      return algorithm::eltwise_gelu_erf;
    case Function::swiglu:
    case Function::none:
      break;
  }
  core::require(false, "a function to apply");
  return {};
}

algorithm backward_algorithm(Function function) {
  switch (function) {
    case Function::relu:
      return algorithm::eltwise_relu_use_dst_for_bwd;
    case Function::sigmoid:
      return algorithm::eltwise_logistic_use_dst_for_bwd;
    case Function::tanh:
      return algorithm::eltwise_tanh_use_dst_for_bwd;
    default:
      return forward_algorithm(function);
  }
}

}  // namespace

dnnl::post_ops fused(Function function) {
  dnnl::post_ops after;
  after.append_eltwise(1, forward_algorithm(function), 0, 0);
  return after;
}

void function_forward(KernelProgram& program, Function function, const Desc& layout, TensorLocation x,
                      TensorLocation y) {
  const FunctionForward::desc what(dnnl::prop_kind::forward_training, forward_algorithm(function), layout, 0,
                                   0);
  program.primitive(FunctionForward::primitive_desc(what, own_scratchpad(), program.engine()),
                    {{DNNL_ARG_SRC, {x, layout}}, {DNNL_ARG_DST, {y, layout}}});
}

void function_gradient(KernelProgram& program, Function function, const Desc& layout, TensorLocation known,
                       TensorLocation y_gradient, TensorLocation x_gradient) {
  const algorithm how = backward_algorithm(function);
  const FunctionForward::primitive_desc hint(
      FunctionForward::desc(dnnl::prop_kind::forward_training, how, layout, 0, 0), program.engine());
  const FunctionBackward::primitive_desc description(FunctionBackward::desc(how, layout, layout, 0, 0),
                                                     own_scratchpad(), program.engine(), hint);
  program.primitive(description, {{from_output(function) ? DNNL_ARG_DST : DNNL_ARG_SRC, {known, layout}},
                                  {DNNL_ARG_DIFF_DST, {y_gradient, layout}},
                                  {DNNL_ARG_DIFF_SRC, {x_gradient, layout}}});
}

void build_activation(KernelDraft& draft) {
  const Activation a = activation(draft.op);
  const std::int64_t count = draft.samples * a.elements;
  if (a.function == Function::none)
    throw core::BadInput("operator '" + draft.op.name +
                         "': shape names no function of relu, sigmoid, tanh, gelu");
  const Desc layout = plain({count}, draft.type);
  function_forward(draft.forward, a.function, layout, input(0), kOutput);
  function_gradient(draft.input_gradient, a.function, layout, from_output(a.function) ? kOutput : input(0),
                    kOutputGradient, input_gradient(0));
}

}  // namespace penstock::kernels::host
