// Convolution by cuDNN, images and weights channels-last. Of the algorithms that its heuristics rank, each
// pass takes the first that gives the same bits on every run and needs no more than kMostWorkspace bytes.

#include <fmt/format.h>

#include <memory>

#include "cuda/function.hpp"
#include "cuda/kernel.hpp"
#include "cuda/libraries.hpp"
#include "geometry.hpp"

namespace penstock::kernels::cuda {
namespace {

using Tensor = Owned<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using Filter = Owned<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using Sliding =
    Owned<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor>;

constexpr std::int64_t kMostWorkspace = std::int64_t{1} << 30;

cudnnDataType_t type_of(Element element) {
  switch (element) {
    case Element::bf16:
      return CUDNN_DATA_BFLOAT16;
    case Element::fp16:
      return CUDNN_DATA_HALF;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

int narrow(std::int64_t extent) {
  if (extent > INT32_MAX)
    throw core::BadInput(fmt::format("cuDNN has no convolution with an extent of {}", extent));
  return static_cast<int>(extent);
}

/// What cuDNN wants to know; one per pass, as the passes may differ in `slide`'s kind of arithmetic.
struct Layouts {
  Layouts(const Draft& draft, const Convolution& c);
  Tensor x{"cudnnCreateTensorDescriptor"}, y{"cudnnCreateTensorDescriptor"};
  Filter weights{"cudnnCreateFilterDescriptor"};
  Sliding slide{"cudnnCreateConvolutionDescriptor"};
};

void set(const Tensor& tensor, Element element, std::int64_t samples, std::int64_t channels,
         std::int64_t height, std::int64_t width) {
  check(cudnnSetTensor4dDescriptor(tensor.get(), CUDNN_TENSOR_NHWC, type_of(element), narrow(samples),
                                   narrow(channels), narrow(height), narrow(width)),
        "cudnnSetTensor4dDescriptor");
}

/// Whether tensor cores may be used, which for fp32 would round the factors.
cudnnMathType_t arithmetic(Number number) {
  if (number == Number::fp32) return CUDNN_FMA_MATH;
  return number == Number::tf32 ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH;
}

Layouts::Layouts(const Draft& draft, const Convolution& c) {
  const Window& w = c.window;
  set(x, draft.element, draft.samples, w.channels, w.image[0], w.image[1]);
  set(y, draft.element, draft.samples, c.out, w.output(0), w.output(1));
  check(cudnnSetFilter4dDescriptor(weights.get(), type_of(draft.element), CUDNN_TENSOR_NHWC, narrow(c.out),
                                   narrow(w.channels), narrow(w.kernel[0]), narrow(w.kernel[1])),
        "cudnnSetFilter4dDescriptor");
  check(cudnnSetConvolution2dDescriptor(slide.get(), narrow(w.padding[0]), narrow(w.padding[1]),
                                        narrow(w.stride[0]), narrow(w.stride[1]), 1, 1,
                                        CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
        "cudnnSetConvolution2dDescriptor");
  check(cudnnSetConvolutionMathType(slide.get(), arithmetic(draft.number)), "cudnnSetConvolutionMathType");
}

/// The first that will do; the arithmetic it was ranked for is set on `slide`, but fp32 stays fp32.
template <class Ranked>
Ranked first_fit(const std::vector<Ranked>& ranked, const Draft& draft, const Sliding& slide) {
  for (const Ranked& one : ranked) {
    if (one.status != CUDNN_STATUS_SUCCESS || one.determinism != CUDNN_DETERMINISTIC) continue;
    if (static_cast<std::int64_t>(one.memory) > kMostWorkspace) continue;
    const auto math = draft.number == Number::fp32 ? CUDNN_FMA_MATH : one.mathType;
    check(cudnnSetConvolutionMathType(slide.get(), math), "cudnnSetConvolutionMathType");
    return one;
  }
  throw core::BadInput(fmt::format("operator '{}' (convolution): cuDNN has no deterministic {} kernel for it",
                                   draft.op.name, name(draft.number)));
}

/// The heuristics' ranking; `ask` is one of cudnnGetConvolution...Algorithm_v7, bound to its descriptors.
template <class Ranked, class Ask>
std::vector<Ranked> ranking(const Ask& ask) {
  constexpr int kMost = 16;
  std::vector<Ranked> ranked(kMost);
  int count = 0;
  check(ask(kMost, &count, ranked.data()), "cudnnGetConvolution...Algorithm_v7");
  ranked.resize(static_cast<std::size_t>(count));
  return ranked;
}

void forward(Draft& draft, const Convolution& c) {
  using Ranked = cudnnConvolutionFwdAlgoPerf_t;
  const auto l = std::make_shared<Layouts>(draft, c);
  const cudnnHandle_t dnn = draft.libraries.dnn;
  const Ranked chosen =
      first_fit(ranking<Ranked>([&](int most, int* count, Ranked* ranked) {
                  return cudnnGetConvolutionForwardAlgorithm_v7(
                      dnn, l->x.get(), l->weights.get(), l->slide.get(), l->y.get(), most, count, ranked);
                }),
                draft, l->slide);
  std::size_t bytes = 0;
  check(cudnnGetConvolutionForwardWorkspaceSize(dnn, l->x.get(), l->weights.get(), l->slide.get(), l->y.get(),
                                                chosen.algo, &bytes),
        "cudnnGetConvolutionForwardWorkspaceSize");
  const Where workspace = draft.forward.scratch(static_cast<std::int64_t>(bytes));
  draft.forward.call(
      fmt::format("cudnn:forward:{}", static_cast<int>(chosen.algo)), [=](const Program::Run& run) {
        const float alpha = 1, beta = 0;
        check(cudnnSetStream(dnn, run.queue.stream), "cudnnSetStream");
        check(cudnnConvolutionForward(dnn, &alpha, l->x.get(), run.at(input(0)), l->weights.get(),
                                      run.at(parameter(0)), l->slide.get(), chosen.algo, run.at(workspace),
                                      bytes, &beta, l->y.get(), run.at(kOutput)),
              "cudnnConvolutionForward");
      });
}

void input_gradient_step(Draft& draft, const Convolution& c) {
  using Ranked = cudnnConvolutionBwdDataAlgoPerf_t;
  const auto l = std::make_shared<Layouts>(draft, c);
  const cudnnHandle_t dnn = draft.libraries.dnn;
  const Ranked chosen =
      first_fit(ranking<Ranked>([&](int most, int* count, Ranked* ranked) {
                  return cudnnGetConvolutionBackwardDataAlgorithm_v7(
                      dnn, l->weights.get(), l->y.get(), l->slide.get(), l->x.get(), most, count, ranked);
                }),
                draft, l->slide);
  std::size_t bytes = 0;
  check(cudnnGetConvolutionBackwardDataWorkspaceSize(dnn, l->weights.get(), l->y.get(), l->slide.get(),
                                                     l->x.get(), chosen.algo, &bytes),
        "cudnnGetConvolutionBackwardDataWorkspaceSize");
  const Where workspace = draft.input_gradient.scratch(static_cast<std::int64_t>(bytes));
  draft.input_gradient.call(
      fmt::format("cudnn:backward data:{}", static_cast<int>(chosen.algo)), [=](const Program::Run& run) {
        const float alpha = 1, beta = 0;
        check(cudnnSetStream(dnn, run.queue.stream), "cudnnSetStream");
        check(cudnnConvolutionBackwardData(dnn, &alpha, l->weights.get(), run.at(parameter(0)), l->y.get(),
                                           run.at(kOutputGradient), l->slide.get(), chosen.algo,
                                           run.at(workspace), bytes, &beta, l->x.get(),
                                           run.at(input_gradient(0))),
              "cudnnConvolutionBackwardData");
      });
}

void weight_gradient_step(Draft& draft, const Convolution& c) {
  using Ranked = cudnnConvolutionBwdFilterAlgoPerf_t;
  const auto l = std::make_shared<Layouts>(draft, c);
  const cudnnHandle_t dnn = draft.libraries.dnn;
  const Ranked chosen =
      first_fit(ranking<Ranked>([&](int most, int* count, Ranked* ranked) {
                  return cudnnGetConvolutionBackwardFilterAlgorithm_v7(
                      dnn, l->x.get(), l->y.get(), l->slide.get(), l->weights.get(), most, count, ranked);
                }),
                draft, l->slide);
  std::size_t bytes = 0;
  check(cudnnGetConvolutionBackwardFilterWorkspaceSize(dnn, l->x.get(), l->y.get(), l->slide.get(),
                                                       l->weights.get(), chosen.algo, &bytes),
        "cudnnGetConvolutionBackwardFilterWorkspaceSize");
  const Where workspace = draft.weight_gradient.scratch(static_cast<std::int64_t>(bytes));
  draft.weight_gradient.call(
      fmt::format("cudnn:backward filter:{}", static_cast<int>(chosen.algo)), [=](const Program::Run& run) {
        const float alpha = 1, beta = 0;
        check(cudnnSetStream(dnn, run.queue.stream), "cudnnSetStream");
        check(cudnnConvolutionBackwardFilter(dnn, &alpha, l->x.get(), run.at(input(0)), l->y.get(),
                                             run.at(kOutputGradient), l->slide.get(), chosen.algo,
                                             run.at(workspace), bytes, &beta, l->weights.get(),
                                             run.at(parameter_gradient(0))),
              "cudnnConvolutionBackwardFilter");
      });
}

}  // namespace

void build_convolution(Draft& draft) {
  const Convolution c = convolution(draft.op);
  const std::int64_t rows = draft.samples * c.window.output(0) * c.window.output(1);
  forward(draft, c);
  if (c.bias) add_bias(draft.forward, draft.element, rows, c.out, parameter(1), kOutput);
  input_gradient_step(draft, c);
  weight_gradient_step(draft, c);
  if (c.bias)
    bias_gradient(draft.weight_gradient, draft.element, rows, c.out, kOutputGradient, parameter_gradient(1));
}

}  // namespace penstock::kernels::cuda
