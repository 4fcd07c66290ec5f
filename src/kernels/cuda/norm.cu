// Layer and batch norm. Both save mean and 1 / deviation of their groups (rows or channels). The sums of a
// batch norm's input gradient are the gradients of scale and shift, which it passes on.

#include <cmath>

#include "cuda/columns.hpp"
#include "cuda/elements.hpp"
#include "cuda/kernel.hpp"
#include "geometry.hpp"

namespace penstock::kernels::cuda {
namespace {

/// Addresses; null if a pass does not use the tensor.
template <class T>
struct NormTensors {
  std::int64_t rows, channels;
  bool batch;
  const T *x, *y_gradient;
  const float *scale, *shift;
  T *y, *x_gradient;
  float *mean, *factor;  ///< [group]
  float *scale_gradient, *shift_gradient;
  float* partial;

  PENSTOCK_BOTH ColumnPieces columns() const { return {rows, channels}; }
  PENSTOCK_DEVICE std::int64_t group(std::int64_t row, std::int64_t c) const { return batch ? c : row; }
  PENSTOCK_DEVICE float normal(std::int64_t row, std::int64_t c) const {
    return (load(x[row * channels + c]) - mean[group(row, c)]) * factor[group(row, c)];
  }
  PENSTOCK_DEVICE float slope(std::int64_t row, std::int64_t c) const {
    return load(y_gradient[row * channels + c]);
  }
  PENSTOCK_DEVICE void write(std::int64_t row, std::int64_t c) const {
    store(y[row * channels + c], normal(row, c) * scale[c] + shift[c]);
  }
};

PENSTOCK_DEVICE inline float factor_of(float squares, std::int64_t count) {
  return 1 / sqrtf(squares / static_cast<float>(count) + kNormEpsilon);
}

template <class T>
void layer_forward(const LaunchQueue& queue, const NormTensors<T>& t) {
  each_by_team(queue, t.rows, [=] PENSTOCK_DEVICE(const RowThreads& team, std::int64_t row) {
    const T* x = t.x + row * t.channels;
    float sum = 0, squares = 0;
    for (std::int64_t c = team.rank(); c < t.channels; c += team.size()) sum += load(x[c]);
    const float mean = team.sum(sum) / static_cast<float>(t.channels);
    for (std::int64_t c = team.rank(); c < t.channels; c += team.size())
      squares += (load(x[c]) - mean) * (load(x[c]) - mean);
    const float factor = factor_of(team.sum(squares), t.channels);
    for (std::int64_t c = team.rank(); c < t.channels; c += team.size())
      store(t.y[row * t.channels + c], (load(x[c]) - mean) * factor * t.scale[c] + t.shift[c]);
    if (team.rank() != 0) return;
    t.mean[row] = mean;
    t.factor[row] = factor;
  });
}

/// With n the normalised input and g = scale y': x' = factor (g - mean of g - n times mean of g n).
template <class T>
void layer_input_gradient(const LaunchQueue& queue, const NormTensors<T>& t) {
  each_by_team(queue, t.rows, [=] PENSTOCK_DEVICE(const RowThreads& team, std::int64_t row) {
    float plain = 0, weighted = 0;
    for (std::int64_t c = team.rank(); c < t.channels; c += team.size()) {
      const float g = t.scale[c] * t.slope(row, c);
      plain += g;
      weighted += g * t.normal(row, c);
    }
    plain = team.sum(plain) / static_cast<float>(t.channels);
    weighted = team.sum(weighted) / static_cast<float>(t.channels);
    for (std::int64_t c = team.rank(); c < t.channels; c += team.size()) {
      const float g = t.scale[c] * t.slope(row, c);
      store(t.x_gradient[row * t.channels + c], t.factor[row] * (g - plain - t.normal(row, c) * weighted));
    }
  });
}

/// Sums of y' n and of y' along the columns.
template <class T>
void scale_and_shift_gradient(const LaunchQueue& queue, const NormTensors<T>& t) {
  column_sums(
      queue, t.columns(), t.partial,
      [=] PENSTOCK_DEVICE(std::int64_t row, std::int64_t c) { return t.slope(row, c) * t.normal(row, c); },
      [=] PENSTOCK_DEVICE(std::int64_t c, float sum) { t.scale_gradient[c] = sum; });
  column_sums(
      queue, t.columns(), t.partial,
      [=] PENSTOCK_DEVICE(std::int64_t row, std::int64_t c) { return t.slope(row, c); },
      [=] PENSTOCK_DEVICE(std::int64_t c, float sum) { t.shift_gradient[c] = sum; });
}

template <class T>
void batch_forward(const LaunchQueue& queue, const NormTensors<T>& t) {
  column_sums(
      queue, t.columns(), t.partial,
      [=] PENSTOCK_DEVICE(std::int64_t row, std::int64_t c) { return load(t.x[row * t.channels + c]); },
      [=] PENSTOCK_DEVICE(std::int64_t c, float sum) { t.mean[c] = sum / static_cast<float>(t.rows); });
  column_sums(
      queue, t.columns(), t.partial,
      [=] PENSTOCK_DEVICE(std::int64_t row, std::int64_t c) {
        const float distance = load(t.x[row * t.channels + c]) - t.mean[c];
        return distance * distance;
      },
      [=] PENSTOCK_DEVICE(std::int64_t c, float sum) { t.factor[c] = factor_of(sum, t.rows); });
  each(queue, t.rows * t.channels,
       [=] PENSTOCK_DEVICE(std::int64_t i) { t.write(i / t.channels, i % t.channels); });
}

/// Like layer norm, over a column: g is y', and the scale is a common factor.
template <class T>
void batch_input_gradient(const LaunchQueue& queue, const NormTensors<T>& t) {
  scale_and_shift_gradient(queue, t);
  each(queue, t.rows * t.channels, [=] PENSTOCK_DEVICE(std::int64_t i) {
    const std::int64_t row = i / t.channels, c = i % t.channels;
    const float plain = t.shift_gradient[c] / static_cast<float>(t.rows),
                weighted = t.scale_gradient[c] / static_cast<float>(t.rows);
    store(t.x_gradient[i],
          t.scale[c] * t.factor[c] * (t.slope(row, c) - plain - t.normal(row, c) * weighted));
  });
}

void copy_gradients(const LaunchQueue& queue, std::int64_t channels, const float* scale, const float* shift,
                    float* scale_gradient, float* shift_gradient) {
  each(queue, channels, [=] PENSTOCK_DEVICE(std::int64_t c) {
    scale_gradient[c] = scale[c];
    shift_gradient[c] = shift[c];
  });
}

template <class T>
NormTensors<T> tensors(const KernelProgram::StepContext& run, const NormShape& n, std::int64_t samples) {
  NormTensors<T> t{};
  t.rows = samples * n.rows;
  t.channels = n.channels;
  t.batch = n.batch;
  t.x = run.as<const T>(input(0));
  t.mean = run.as<float>(saved(0));
  t.factor = run.as<float>(saved(1));
  return t;
}

void forward_step(KernelProgram& program, const NormShape& n, std::int64_t samples, Element element) {
  const TensorLocation partial =
      n.batch ? columns_scratch(program, {samples * n.rows, n.channels}) : TensorLocation{};
  program.call(n.batch ? "batch norm" : "layer norm", [=](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      NormTensors<T> t = tensors<T>(run, n, samples);
      t.scale = run.as<const float>(parameter(0));
      t.shift = run.as<const float>(parameter(1));
      t.y = run.as<T>(kOutput);
      if (!n.batch) return layer_forward(run.queue, t);
      t.partial = run.as<float>(partial);
      batch_forward(run.queue, t);
    });
  });
}

void input_gradient_step(KernelProgram& program, const NormShape& n, std::int64_t samples, Element element) {
  const TensorLocation partial =
      n.batch ? columns_scratch(program, {samples * n.rows, n.channels}) : TensorLocation{};
  program.call(n.batch ? "batch norm gradient" : "layer norm gradient",
               [=](const KernelProgram::StepContext& run) {
                 with_element(element, [&](auto zero) {
                   using T = decltype(zero);
                   NormTensors<T> t = tensors<T>(run, n, samples);
                   t.y_gradient = run.as<const T>(kOutputGradient);
                   t.scale = run.as<const float>(parameter(0));
                   t.x_gradient = run.as<T>(input_gradient(0));
                   if (!n.batch) return layer_input_gradient(run.queue, t);
                   t.partial = run.as<float>(partial);
                   t.scale_gradient = run.as<float>(handed(0));
                   t.shift_gradient = run.as<float>(handed(1));
                   batch_input_gradient(run.queue, t);
                 });
               });
}

void layer_weight_gradient(KernelProgram& program, const NormShape& n, std::int64_t samples,
                           Element element) {
  const TensorLocation partial = columns_scratch(program, {samples * n.rows, n.channels});
  program.call("column sums", [=](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      NormTensors<T> t = tensors<T>(run, n, samples);
      t.y_gradient = run.as<const T>(kOutputGradient);
      t.scale_gradient = run.as<float>(parameter_gradient(0));
      t.shift_gradient = run.as<float>(parameter_gradient(1));
      t.partial = run.as<float>(partial);
      scale_and_shift_gradient(run.queue, t);
    });
  });
}

void batch_weight_gradient(KernelProgram& program, std::int64_t channels) {
  program.call("copy", [=](const KernelProgram::StepContext& run) {
    copy_gradients(run.queue, channels, run.as<const float>(handed(0)), run.as<const float>(handed(1)),
                   run.as<float>(parameter_gradient(0)), run.as<float>(parameter_gradient(1)));
  });
}

}  // namespace

void build_norm(KernelDraft& draft) {
  const NormShape n = norm(draft.op);
  const std::int64_t groups = n.batch ? n.channels : draft.samples * n.rows;
  draft.slots.saved = {{"mean", {groups}, Element::fp32}, {"factor", {groups}, Element::fp32}};
  if (n.batch)
    draft.slots.handed = {{"scale_gradient", {n.channels}, Element::fp32},
                          {"shift_gradient", {n.channels}, Element::fp32}};
  forward_step(draft.forward, n, draft.samples, draft.element);
  input_gradient_step(draft.input_gradient, n, draft.samples, draft.element);
  if (n.batch)
    batch_weight_gradient(draft.weight_gradient, n.channels);
  else
    layer_weight_gradient(draft.weight_gradient, n, draft.samples, draft.element);
}

}  // namespace penstock::kernels::cuda
