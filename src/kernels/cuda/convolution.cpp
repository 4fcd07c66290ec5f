// Convolution by cuDNN, with channels-last images and weights. Among the algorithms that its heuristics rank,
// each pass uses the first that gives identical bits on every run and needs at most kMostWorkspace bytes.

#include <fmt/format.h>

#include <memory>

#include "cuda/function.hpp"
#include "cuda/kernel.hpp"
#include "cuda/libraries.hpp"
#include "geometry.hpp"

namespace penstock::kernels::cuda {
namespace {

using Tensor =
    LibraryObject<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using Filter =
    LibraryObject<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using Sliding = LibraryObject<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor,
                              cudnnDestroyConvolutionDescriptor>;

constexpr std::size_t kMostWorkspace = std::size_t{1} << 30;

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

/// Descriptors for cuDNN; one set per pass, because passes may differ in the arithmetic of `slide`.
struct ConvolutionLayouts {
  ConvolutionLayouts(const KernelDraft& draft, const Convolution& c);
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

/// Permission for tensor cores, which would round the factors of fp32.
cudnnMathType_t arithmetic(Precision precision) {
  if (precision == Precision::fp32) return CUDNN_FMA_MATH;
  return precision == Precision::tf32 ? CUDNN_DEFAULT_MATH : CUDNN_TENSOR_OP_MATH;
}

ConvolutionLayouts::ConvolutionLayouts(const KernelDraft& draft, const Convolution& c) {
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
  check(cudnnSetConvolutionMathType(slide.get(), arithmetic(draft.precision)), "cudnnSetConvolutionMathType");
}

/// An algorithm, and the workspace it needs.
template <class Ranked>
struct AlgorithmChoice {
  decltype(Ranked::algo) algorithm;
  std::size_t bytes;
};

/// Ranking by the heuristics; `rank` is cudnnGetConvolution...Algorithm_v7, named `call`, bound to its
/// descriptors.
template <class Ranked, class Rank>
std::vector<Ranked> ranking(const char* call, const Rank& rank) {
  constexpr int kMost = 16;
  std::vector<Ranked> ranked(kMost);
  int count = 0;
  const cudnnStatus_t status = rank(kMost, &count, ranked.data());
  if (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED) return {};
  check(status, call);
  ranked.resize(static_cast<std::size_t>(count));
  return ranked;
}

/// First suitable algorithm; `measure` is cudnnGetConvolution...WorkspaceSize, bound in the same way. Sets
/// the arithmetic of its ranking on `slide`, except that fp32 stays fp32.
template <class Ranked, class Measure>
AlgorithmChoice<Ranked> first_fit(const KernelDraft& draft, const Sliding& slide,
                                  const std::vector<Ranked>& ranked, const Measure& measure) {
  for (const Ranked& one : ranked) {
    if (one.status != CUDNN_STATUS_SUCCESS || one.determinism != CUDNN_DETERMINISTIC) continue;
    const auto math = draft.precision == Precision::fp32 ? CUDNN_FMA_MATH : one.mathType;
    check(cudnnSetConvolutionMathType(slide.get(), math), "cudnnSetConvolutionMathType");
    std::size_t bytes = 0;
    if (measure(one.algo, &bytes) == CUDNN_STATUS_SUCCESS && bytes <= kMostWorkspace)
      return {one.algo, bytes};
  }
  throw core::BadInput(fmt::format("operator '{}' (convolution): cuDNN has no deterministic {} kernel for it",
                                   draft.op.name, name(draft.precision)));
}

using Forward = cudnnConvolutionFwdAlgoPerf_t;
using ToInput = cudnnConvolutionBwdDataAlgoPerf_t;
using ToWeights = cudnnConvolutionBwdFilterAlgoPerf_t;

AlgorithmChoice<Forward> choose_forward(const KernelDraft& draft, const ConvolutionLayouts& l) {
  const cudnnHandle_t dnn = draft.libraries.dnn;
  const auto rank = [&](int most, int* count, Forward* ranked) {
    return cudnnGetConvolutionForwardAlgorithm_v7(dnn, l.x.get(), l.weights.get(), l.slide.get(), l.y.get(),
                                                  most, count, ranked);
  };
  const auto measure = [&](auto algorithm, std::size_t* bytes) {
    return cudnnGetConvolutionForwardWorkspaceSize(dnn, l.x.get(), l.weights.get(), l.slide.get(), l.y.get(),
                                                   algorithm, bytes);
  };
  return first_fit(draft, l.slide, ranking<Forward>("cudnnGetConvolutionForwardAlgorithm_v7", rank), measure);
}

AlgorithmChoice<ToInput> choose_to_input(const KernelDraft& draft, const ConvolutionLayouts& l) {
  const cudnnHandle_t dnn = draft.libraries.dnn;
  const auto rank = [&](int most, int* count, ToInput* ranked) {
    return cudnnGetConvolutionBackwardDataAlgorithm_v7(dnn, l.weights.get(), l.y.get(), l.slide.get(),
                                                       l.x.get(), most, count, ranked);
  };
  const auto measure = [&](auto algorithm, std::size_t* bytes) {
    return cudnnGetConvolutionBackwardDataWorkspaceSize(dnn, l.weights.get(), l.y.get(), l.slide.get(),
                                                        l.x.get(), algorithm, bytes);
  };
  return first_fit(draft, l.slide, ranking<ToInput>("cudnnGetConvolutionBackwardDataAlgorithm_v7", rank),
                   measure);
}

AlgorithmChoice<ToWeights> choose_to_weights(const KernelDraft& draft, const ConvolutionLayouts& l) {
  const cudnnHandle_t dnn = draft.libraries.dnn;
  const auto rank = [&](int most, int* count, ToWeights* ranked) {
    return cudnnGetConvolutionBackwardFilterAlgorithm_v7(dnn, l.x.get(), l.y.get(), l.slide.get(),
                                                         l.weights.get(), most, count, ranked);
  };
  const auto measure = [&](auto algorithm, std::size_t* bytes) {
    return cudnnGetConvolutionBackwardFilterWorkspaceSize(dnn, l.x.get(), l.y.get(), l.slide.get(),
                                                          l.weights.get(), algorithm, bytes);
  };
  return first_fit(draft, l.slide, ranking<ToWeights>("cudnnGetConvolutionBackwardFilterAlgorithm_v7", rank),
                   measure);
}

constexpr float kOne = 1,
                kZero = 0;  ///< result = 1 x computed + 0 x previous, which is not read

void forward(const KernelDraft& draft, const Convolution& c) {
  const auto l = std::make_shared<ConvolutionLayouts>(draft, c);
  const cudnnHandle_t dnn = draft.libraries.dnn;
  const auto how = choose_forward(draft, *l);
  const TensorLocation workspace = draft.forward.scratch(static_cast<std::int64_t>(how.bytes));
  const auto step = [=](const KernelProgram::StepContext& run) {
    check(cudnnSetStream(dnn, run.queue.stream), "cudnnSetStream");
    check(cudnnConvolutionForward(dnn, &kOne, l->x.get(), run.at(input(0)), l->weights.get(),
                                  run.at(parameter(0)), l->slide.get(), how.algorithm, run.at(workspace),
                                  how.bytes, &kZero, l->y.get(), run.at(kOutput)),
          "cudnnConvolutionForward");
  };
  draft.forward.call(fmt::format("cudnn:forward:{}", static_cast<int>(how.algorithm)), step);
}

void to_input(const KernelDraft& draft, const Convolution& c) {
  const auto l = std::make_shared<ConvolutionLayouts>(draft, c);
  const cudnnHandle_t dnn = draft.libraries.dnn;
  const auto how = choose_to_input(draft, *l);
  const TensorLocation workspace = draft.input_gradient.scratch(static_cast<std::int64_t>(how.bytes));
  const auto step = [=](const KernelProgram::StepContext& run) {
    check(cudnnSetStream(dnn, run.queue.stream), "cudnnSetStream");
    check(cudnnConvolutionBackwardData(dnn, &kOne, l->weights.get(), run.at(parameter(0)), l->y.get(),
                                       run.at(kOutputGradient), l->slide.get(), how.algorithm,
                                       run.at(workspace), how.bytes, &kZero, l->x.get(),
                                       run.at(input_gradient(0))),
          "cudnnConvolutionBackwardData");
  };
  draft.input_gradient.call(fmt::format("cudnn:backward_data:{}", static_cast<int>(how.algorithm)), step);
}

void to_weights(const KernelDraft& draft, const Convolution& c) {
  const auto l = std::make_shared<ConvolutionLayouts>(draft, c);
  const cudnnHandle_t dnn = draft.libraries.dnn;
  const auto how = choose_to_weights(draft, *l);
  const TensorLocation workspace = draft.weight_gradient.scratch(static_cast<std::int64_t>(how.bytes));
  const auto step = [=](const KernelProgram::StepContext& run) {
    check(cudnnSetStream(dnn, run.queue.stream), "cudnnSetStream");
    check(cudnnConvolutionBackwardFilter(dnn, &kOne, l->x.get(), run.at(input(0)), l->y.get(),
                                         run.at(kOutputGradient), l->slide.get(), how.algorithm,
                                         run.at(workspace), how.bytes, &kZero, l->weights.get(),
                                         run.at(parameter_gradient(0))),
          "cudnnConvolutionBackwardFilter");
  };
  draft.weight_gradient.call(fmt::format("cudnn:backward_filter:{}", static_cast<int>(how.algorithm)), step);
}

}  // namespace

void build_convolution(KernelDraft& draft) {
  const Convolution c = convolution(draft.op);
  const std::int64_t rows = draft.samples * c.window.output(0) * c.window.output(1);
  forward(draft, c);
  if (c.bias) add_bias(draft.forward, draft.element, rows, c.out, parameter(1), kOutput);
  to_input(draft, c);
  to_weights(draft, c);
  if (c.bias)
    bias_gradient(draft.weight_gradient, draft.element, rows, c.out, kOutputGradient, parameter_gradient(1));
}

}  // namespace penstock::kernels::cuda
