#include <cmath>

#include "cuda/columns.hpp"
#include "cuda/elements.hpp"
#include "cuda/function.hpp"
#include "cuda/kernel.hpp"

namespace penstock::kernels::cuda {
namespace {

PENSTOCK_DEVICE inline float applied(Function function, float x) {
  switch (function) {
    case Function::relu:
      return x > 0 ? x : 0;
    case Function::sigmoid:
      return 1 / (1 + expf(-x));
    case Function::tanh:
      return tanhf(x);
    case Function::gelu:
      return 0.5f * x * (1 + erff(x * 0.70710678f));
    case Function::swiglu:
    case Function::none:
      break;
  }
  return x;
}

/// The derivative; `known` is the output, for gelu the argument.
PENSTOCK_DEVICE inline float slope(Function function, float known) {
  switch (function) {
    case Function::relu:
      return known > 0 ? 1 : 0;
    case Function::sigmoid:
      return known * (1 - known);
    case Function::tanh:
      return 1 - known * known;
    case Function::gelu:  // the normal distribution, and x times its density
      return 0.5f * (1 + erff(known * 0.70710678f)) + known * 0.39894228f * expf(-0.5f * known * known);
    case Function::swiglu:
    case Function::none:
      break;
  }
  return 1;
}

template <class T>
void forward(const LaunchQueue& queue, Function function, std::int64_t count, const T* x, T* y) {
  each(queue, count, [=] PENSTOCK_DEVICE(std::int64_t i) { store(y[i], applied(function, load(x[i]))); });
}

template <class T>
void gradient(const LaunchQueue& queue, Function function, std::int64_t count, const T* known, const T* y,
              T* x) {
  each(queue, count,
       [=] PENSTOCK_DEVICE(std::int64_t i) { store(x[i], slope(function, load(known[i])) * load(y[i])); });
}

template <class T>
void add_row(const LaunchQueue& queue, std::int64_t rows, std::int64_t columns, const T* row, T* y) {
  each(queue, rows * columns,
       [=] PENSTOCK_DEVICE(std::int64_t i) { store(y[i], load(y[i]) + load(row[i % columns])); });
}

template <class T>
void sum_rows(const LaunchQueue& queue, const ColumnPieces& c, const T* y, float* partial, T* sums) {
  column_sums(
      queue, c, partial,
      [=] PENSTOCK_DEVICE(std::int64_t row, std::int64_t column) {
        return load(y[row * c.columns + column]);
      },
      [=] PENSTOCK_DEVICE(std::int64_t column, float sum) { store(sums[column], sum); });
}

template <class T>
void add_to(const LaunchQueue& queue, std::int64_t count, T* to, const T* term) {
  each(queue, count, [=] PENSTOCK_DEVICE(std::int64_t i) { store(to[i], load(to[i]) + load(term[i])); });
}

}  // namespace

TensorLocation columns_scratch(KernelProgram& program, const ColumnPieces& c) {
  return program.scratch(c.pieces() * c.columns * static_cast<std::int64_t>(sizeof(float)));
}

void function_forward(KernelProgram& program, Function function, Element element, std::int64_t count,
                      TensorLocation x, TensorLocation y) {
  program.call("function", [=](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      forward(run.queue, function, count, run.as<const T>(x), run.as<T>(y));
    });
  });
}

void function_gradient(KernelProgram& program, Function function, Element element, std::int64_t count,
                       TensorLocation known, TensorLocation y_gradient, TensorLocation x_gradient) {
  program.call("slope", [=](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      gradient(run.queue, function, count, run.as<const T>(known), run.as<const T>(y_gradient),
               run.as<T>(x_gradient));
    });
  });
}

void add_bias(KernelProgram& program, Element element, std::int64_t rows, std::int64_t columns,
              TensorLocation bias, TensorLocation y) {
  program.call("bias", [=](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      add_row(run.queue, rows, columns, run.as<const T>(bias), run.as<T>(y));
    });
  });
}

void bias_gradient(KernelProgram& program, Element element, std::int64_t rows, std::int64_t columns,
                   TensorLocation y_gradient, TensorLocation result) {
  const ColumnPieces c{rows, columns};
  const TensorLocation partial = columns_scratch(program, c);
  program.call("column sums", [=](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      sum_rows(run.queue, c, run.as<const T>(y_gradient), run.as<float>(partial), run.as<T>(result));
    });
  });
}

void add_elements(const LaunchQueue& queue, Element element, std::int64_t count, void* to, const void* term) {
  with_element(element, [&](auto zero) {
    using T = decltype(zero);
    add_to(queue, count, static_cast<T*>(to), static_cast<const T*>(term));
  });
}

void build_activation(KernelDraft& draft) {
  const Activation a = activation(draft.op);
  if (a.function == Function::none)
    throw core::BadInput("operator '" + draft.op.name +
                         "': shape names no function of relu, sigmoid, tanh, gelu");
  const std::int64_t count = draft.samples * a.elements;
  function_forward(draft.forward, a.function, draft.element, count, input(0), kOutput);
  function_gradient(draft.input_gradient, a.function, draft.element, count,
                    from_output(a.function) ? kOutput : input(0), kOutputGradient, input_gradient(0));
}

}  // namespace penstock::kernels::cuda
