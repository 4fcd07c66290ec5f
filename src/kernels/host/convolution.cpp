// Images are channels-last. The library chooses its own layout, and copies are part of the pass.

#include "geometry.hpp"
#include "host/kernel.hpp"

namespace penstock::kernels::host {
namespace {

using dnnl::algorithm;
using ConvolutionForward = dnnl::convolution_forward;
using ConvolutionToInput = dnnl::convolution_backward_data;
using ConvolutionToWeights = dnnl::convolution_backward_weights;

/// Layouts of the operands, and those left to the library.
struct ConvolutionLayouts {
  Desc x, weights, bias, y;
  Dims stride, padding;
};

Dims dims(const std::array<std::int64_t, 2>& axes) {
  return {axes[0], axes[1]};
}

ConvolutionLayouts layouts(const KernelDraft& draft, const Convolution& c) {
  const Window& w = c.window;
  ConvolutionLayouts l;
  l.x = Desc({draft.samples, w.channels, w.image[0], w.image[1]}, draft.type, Tag::nhwc);
  l.weights = Desc({c.out, w.channels, w.kernel[0], w.kernel[1]}, draft.type, Tag::ohwi);
  if (c.bias) l.bias = Desc({c.out}, draft.type, Tag::a);
  l.y = Desc({draft.samples, c.out, w.output(0), w.output(1)}, draft.type, Tag::nhwc);
  l.stride = dims(w.stride);
  l.padding = dims(w.padding);
  return l;
}

Desc any(const Desc& layout) {
  return {layout.dims(), layout.data_type(), Tag::any};
}

ConvolutionForward::primitive_desc forward_of(const KernelProgram& program, const ConvolutionLayouts& l) {
  const ConvolutionForward::desc what(dnnl::prop_kind::forward_training, algorithm::convolution_direct,
                                      any(l.x), any(l.weights), l.bias, any(l.y), l.stride, l.padding,
                                      l.padding);
  return {what, own_scratchpad(), program.engine()};
}

void convolution_forward(KernelProgram& program, const ConvolutionLayouts& l) {
  const auto description = forward_of(program, l);
  const PlacedTensor x = program.bring({input(0), l.x}, description.src_desc());
  const PlacedTensor weights = program.bring({parameter(0), l.weights}, description.weights_desc());
  const PlacedTensor output{kOutput, l.y}, y = program.prepare(output, description.dst_desc());
  std::vector<std::pair<int, PlacedTensor>> arguments = {
      {DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, y}};
  if (!l.bias.is_zero()) arguments.push_back({DNNL_ARG_BIAS, {parameter(1), l.bias}});
  program.primitive(description, arguments);
  program.deliver(y, output);
}

void convolution_input_gradient(KernelProgram& program, const ConvolutionLayouts& l) {
  const ConvolutionToInput::desc what(algorithm::convolution_direct, any(l.x), any(l.weights), any(l.y),
                                      l.stride, l.padding, l.padding);
  const ConvolutionToInput::primitive_desc description(what, own_scratchpad(), program.engine(),
                                                       forward_of(program, l));
  const PlacedTensor y = program.bring({kOutputGradient, l.y}, description.diff_dst_desc());
  const PlacedTensor weights = program.bring({parameter(0), l.weights}, description.weights_desc());
  const PlacedTensor result{input_gradient(0), l.x}, x = program.prepare(result, description.diff_src_desc());
  program.primitive(description,
                    {{DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_SRC, x}});
  program.deliver(x, result);
}

void convolution_weight_gradient(KernelProgram& program, const ConvolutionLayouts& l) {
  const ConvolutionToWeights::desc what(algorithm::convolution_direct, any(l.x), any(l.weights), l.bias,
                                        any(l.y), l.stride, l.padding, l.padding);
  const ConvolutionToWeights::primitive_desc description(what, own_scratchpad(), program.engine(),
                                                         forward_of(program, l));
  const PlacedTensor x = program.bring({input(0), l.x}, description.src_desc());
  const PlacedTensor y = program.bring({kOutputGradient, l.y}, description.diff_dst_desc());
  const PlacedTensor result{parameter_gradient(0), l.weights};
  const PlacedTensor weights = program.prepare(result, description.diff_weights_desc());
  std::vector<std::pair<int, PlacedTensor>> arguments = {
      {DNNL_ARG_SRC, x}, {DNNL_ARG_DIFF_DST, y}, {DNNL_ARG_DIFF_WEIGHTS, weights}};
  if (!l.bias.is_zero()) arguments.push_back({DNNL_ARG_DIFF_BIAS, {parameter_gradient(1), l.bias}});
  program.primitive(description, arguments);
  program.deliver(weights, result);
}

}  // namespace

void build_convolution(KernelDraft& draft) {
  const ConvolutionLayouts l = layouts(draft, convolution(draft.op));
  convolution_forward(draft.forward, l);
  convolution_input_gradient(draft.input_gradient, l);
  convolution_weight_gradient(draft.weight_gradient, l);
}

}  // namespace penstock::kernels::host
