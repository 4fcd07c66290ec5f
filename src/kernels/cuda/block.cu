#include "cuda/block.hpp"
#include "cuda/elements.hpp"
#include "cuda/kernel.hpp"
#include "geometry.hpp"

namespace penstock::kernels::cuda {
namespace {

template <class T>
void into(const LaunchQueue& queue, const ColumnBlock& b, const T* part, T* matrix) {
  each(queue, b.rows * b.width, [=] PENSTOCK_DEVICE(std::int64_t i) {
    matrix[i / b.width * b.whole + b.offset + i % b.width] = part[i];
  });
}

template <class T>
void out_of(const LaunchQueue& queue, const ColumnBlock& b, const T* matrix, T* part) {
  each(queue, b.rows * b.width, [=] PENSTOCK_DEVICE(std::int64_t i) {
    part[i] = matrix[i / b.width * b.whole + b.offset + i % b.width];
  });
}

/// Index in the tensor by token of element i of the tensor by head.
PENSTOCK_DEVICE inline std::int64_t by_token_place(const HeadShape& h, std::int64_t i) {
  const std::int64_t inside = i % h.head, token = i / h.head % h.tokens;
  const std::int64_t head = i / h.head / h.tokens % h.heads, sample = i / h.head / h.tokens / h.heads;
  return ((sample * h.tokens + token) * h.heads + head) * h.head + inside;
}

template <class T>
void to_heads(const LaunchQueue& queue, const HeadShape& h, const T* by_token, T* by_head) {
  each(queue, h.count(),
       [=] PENSTOCK_DEVICE(std::int64_t i) { by_head[i] = by_token[by_token_place(h, i)]; });
}

template <class T>
void to_tokens(const LaunchQueue& queue, const HeadShape& h, const T* by_head, T* by_token) {
  each(queue, h.count(),
       [=] PENSTOCK_DEVICE(std::int64_t i) { by_token[by_token_place(h, i)] = by_head[i]; });
}

}  // namespace

void copy_into(KernelProgram& program, Element element, const ColumnBlock& block, TensorLocation part,
               TensorLocation matrix) {
  program.call("copy", [=](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      into(run.queue, block, run.as<const T>(part), run.as<T>(matrix));
    });
  });
}

void copy_out_of(KernelProgram& program, Element element, const ColumnBlock& block, TensorLocation matrix,
                 TensorLocation part) {
  program.call("copy", [=](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      out_of(run.queue, block, run.as<const T>(matrix), run.as<T>(part));
    });
  });
}

void tokens_to_heads(KernelProgram& program, Element element, const HeadShape& h, TensorLocation by_token,
                     TensorLocation by_head) {
  program.call("to heads", [=](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      to_heads(run.queue, h, run.as<const T>(by_token), run.as<T>(by_head));
    });
  });
}

void heads_to_tokens(KernelProgram& program, Element element, const HeadShape& h, TensorLocation by_head,
                     TensorLocation by_token) {
  program.call("to tokens", [=](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      to_tokens(run.queue, h, run.as<const T>(by_head), run.as<T>(by_token));
    });
  });
}

void build_concat(KernelDraft& draft) {
  const Concat c = concat(draft.op);
  ColumnBlock block{draft.samples * c.rows, draft.slots.output.shape.back(), 0, 0};
  for (std::size_t i = 0; i < c.widths.size(); ++i) {
    block.width = c.widths[i];
    copy_into(draft.forward, draft.element, block, input(i), kOutput);
    copy_out_of(draft.input_gradient, draft.element, block, kOutputGradient, input_gradient(i));
    block.offset += block.width;
  }
}

}  // namespace penstock::kernels::cuda
