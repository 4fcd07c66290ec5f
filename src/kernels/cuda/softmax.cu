#include <cmath>

#include "cuda/elements.hpp"
#include "cuda/kernel.hpp"
#include "cuda/softmax.hpp"
#include "geometry.hpp"

namespace penstock::kernels::cuda {
namespace {

// A thread uses the same columns in every loop, so that x and y may be one array.

template <class T>
void forward(const LaunchQueue& queue, const Softmax& m, const T* all, T* results) {
  each_by_team(queue, m.rows, [=] PENSTOCK_DEVICE(const RowThreads& team, std::int64_t row) {
    const T* x = all + row * m.width;
    T* y = results + row * m.width;
    float most = -INFINITY, sum = 0;
    for (std::int64_t i = team.rank(); i < m.width; i += team.size()) most = fmaxf(most, load(x[i]));
    most = team.largest(most);
    for (std::int64_t i = team.rank(); i < m.width; i += team.size()) sum += expf(load(x[i]) - most);
    sum = team.sum(sum);
    for (std::int64_t i = team.rank(); i < m.width; i += team.size())
      store(y[i], expf(load(x[i]) - most) / sum);
  });
}

template <class T>
void gradient(const LaunchQueue& queue, const Softmax& m, const T* shares, const T* gradients, T* results) {
  each_by_team(queue, m.rows, [=] PENSTOCK_DEVICE(const RowThreads& team, std::int64_t row) {
    const T *y = shares + row * m.width, *slope = gradients + row * m.width;
    T* x = results + row * m.width;
    float sum = 0;
    for (std::int64_t i = team.rank(); i < m.width; i += team.size()) sum += load(y[i]) * load(slope[i]);
    sum = team.sum(sum);
    for (std::int64_t i = team.rank(); i < m.width; i += team.size())
      store(x[i], load(y[i]) * (load(slope[i]) - sum));
  });
}

}  // namespace

void softmax_forward(KernelProgram& program, Element element, std::int64_t rows, std::int64_t width,
                     TensorLocation x, TensorLocation y) {
  program.call("softmax", [=](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      forward(run.queue, {rows, width}, run.as<const T>(x), run.as<T>(y));
    });
  });
}

void softmax_gradient(KernelProgram& program, Element element, std::int64_t rows, std::int64_t width,
                      TensorLocation y, TensorLocation y_gradient, TensorLocation x_gradient) {
  program.call("softmax gradient", [=](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      gradient(run.queue, {rows, width}, run.as<const T>(y), run.as<const T>(y_gradient),
               run.as<T>(x_gradient));
    });
  });
}

void build_softmax(KernelDraft& draft) {
  const Softmax m = softmax(draft.op);
  const std::int64_t rows = draft.samples * m.rows;
  softmax_forward(draft.forward, draft.element, rows, m.width, input(0), kOutput);
  softmax_gradient(draft.input_gradient, draft.element, rows, m.width, kOutput, kOutputGradient,
                   input_gradient(0));
}

}  // namespace penstock::kernels::cuda
