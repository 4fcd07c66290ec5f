#include "host/softmax.hpp"

#include "geometry.hpp"

namespace penstock::kernels::host {
namespace {

using SoftmaxForward = dnnl::softmax_forward;
using SoftmaxBackward = dnnl::softmax_backward;

SoftmaxForward::primitive_desc forward_of(const KernelProgram& program, const Desc& layout) {
  return {SoftmaxForward::desc(dnnl::prop_kind::forward_training, layout, 1), own_scratchpad(),
          program.engine()};
}

}  // namespace

void softmax_forward(KernelProgram& program, const Desc& layout, TensorLocation x, TensorLocation y) {
  program.primitive(forward_of(program, layout), {{DNNL_ARG_SRC, {x, layout}}, {DNNL_ARG_DST, {y, layout}}});
}

void softmax_gradient(KernelProgram& program, const Desc& layout, TensorLocation y, TensorLocation y_gradient,
                      TensorLocation x_gradient) {
  const SoftmaxBackward::primitive_desc description(SoftmaxBackward::desc(layout, layout, 1),
                                                    own_scratchpad(), program.engine(),
                                                    forward_of(program, layout));
  program.primitive(description, {{DNNL_ARG_DST, {y, layout}},
                                  {DNNL_ARG_DIFF_DST, {y_gradient, layout}},
                                  {DNNL_ARG_DIFF_SRC, {x_gradient, layout}}});
}

void build_softmax(KernelDraft& draft) {
  const Softmax m = softmax(draft.op);
  const Desc layout = plain({draft.samples * m.rows, m.width}, draft.type);
  softmax_forward(draft.forward, layout, input(0), kOutput);
  softmax_gradient(draft.input_gradient, layout, kOutput, kOutputGradient, input_gradient(0));
}

}  // namespace penstock::kernels::host
