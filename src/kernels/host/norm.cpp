// Layer and batch norm. The library computes all gradients at once, so those of scale and shift are passed
// on.

#include <cstring>

#include "geometry.hpp"
#include "host/kernel.hpp"

namespace penstock::kernels::host {
namespace {

const auto kFlags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;

void copy_step(KernelProgram& program, TensorLocation from, TensorLocation to, std::int64_t count) {
  program.call("copy", [=](const KernelProgram::Find& at) {
    std::memcpy(at(to), at(from), static_cast<std::size_t>(count) * sizeof(float));
  });
}

/// Layer and batch norm differ only in the axes of `data` and `statistics`.
template <class Forward, class Backward>
void append(KernelDraft& draft, std::int64_t channels, const Desc& data, const Desc& statistics) {
  const typename Forward::primitive_desc forward(
      typename Forward::desc(dnnl::prop_kind::forward_training, data, kNormEpsilon, kFlags), own_scratchpad(),
      draft.forward.engine());
  const typename Backward::primitive_desc backward(
      typename Backward::desc(dnnl::prop_kind::backward, data, data, kNormEpsilon, kFlags), own_scratchpad(),
      draft.input_gradient.engine(), forward);
  const Desc vector = plain({channels}, Type::f32);
  draft.forward.primitive(forward, {{DNNL_ARG_SRC, {input(0), data}},
                                    {DNNL_ARG_SCALE, {parameter(0), vector}},
                                    {DNNL_ARG_SHIFT, {parameter(1), vector}},
                                    {DNNL_ARG_MEAN, {saved(0), statistics}},
                                    {DNNL_ARG_VARIANCE, {saved(1), statistics}},
                                    {DNNL_ARG_DST, {kOutput, data}}});
  draft.input_gradient.primitive(backward, {{DNNL_ARG_SRC, {input(0), data}},
                                            {DNNL_ARG_SCALE, {parameter(0), vector}},
                                            {DNNL_ARG_SHIFT, {parameter(1), vector}},
                                            {DNNL_ARG_MEAN, {saved(0), statistics}},
                                            {DNNL_ARG_VARIANCE, {saved(1), statistics}},
                                            {DNNL_ARG_DIFF_DST, {kOutputGradient, data}},
                                            {DNNL_ARG_DIFF_SRC, {input_gradient(0), data}},
                                            {DNNL_ARG_DIFF_SCALE, {handed(0), vector}},
                                            {DNNL_ARG_DIFF_SHIFT, {handed(1), vector}}});
}

}  // namespace

void build_norm(KernelDraft& draft) {
  const NormShape n = norm(draft.op);
  const std::int64_t rows = draft.samples * n.rows, groups = n.batch ? n.channels : rows;
  draft.slots.saved = {{"mean", {groups}, Element::fp32}, {"variance", {groups}, Element::fp32}};
  draft.slots.handed = {{"scale_gradient", {n.channels}, Element::fp32},
                        {"shift_gradient", {n.channels}, Element::fp32}};
  const Desc statistics = plain({groups}, Type::f32);
  if (n.batch)  // rows of an image in one line: samples x channels x 1 x rows, channels last
    append<dnnl::batch_normalization_forward, dnnl::batch_normalization_backward>(
        draft, n.channels, Desc({draft.samples, n.channels, 1, n.rows}, draft.type, Tag::nhwc), statistics);
  else
    append<dnnl::layer_normalization_forward, dnnl::layer_normalization_backward>(
        draft, n.channels, plain({rows, n.channels}, draft.type), statistics);
  for (const std::size_t i : {0, 1})
    copy_step(draft.weight_gradient, handed(i), parameter_gradient(i), n.channels);
}

}  // namespace penstock::kernels::host
