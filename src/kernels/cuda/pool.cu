// A sliding window over each channel. The maximum of a window saves its place in the window; gradients are
// gathered by input element from the windows that cover it, in order, rather than scattered.

#include <cmath>

#include "cuda/elements.hpp"
#include "cuda/kernel.hpp"
#include "geometry.hpp"

namespace penstock::kernels::cuda {
namespace {

/// Window and images in plain integers; index 0 is height, 1 is width.
struct PoolSizes {
  std::int64_t samples, channels, image[2], kernel[2], stride[2], padding[2], output[2];
  bool average;

  PENSTOCK_BOTH std::int64_t inputs() const { return samples * image[0] * image[1] * channels; }
  PENSTOCK_BOTH std::int64_t outputs() const { return samples * output[0] * output[1] * channels; }
};

PoolSizes sizes(const Pool& p, std::int64_t samples) {
  PoolSizes s{};
  s.samples = samples;
  s.channels = p.window.channels;
  s.average = p.average;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    s.image[axis] = p.window.image[axis];
    s.kernel[axis] = p.window.kernel[axis];
    s.stride[axis] = p.window.stride[axis];
    s.padding[axis] = p.window.padding[axis];
    s.output[axis] = p.window.output(axis);
  }
  return s;
}

/// An element of a channels-last image.
struct ImageElement {
  std::int64_t sample, row, column, channel;
};

PENSTOCK_DEVICE inline ImageElement cell(std::int64_t i, const std::int64_t (&image)[2],
                                         std::int64_t channels) {
  const std::int64_t pixel = i / channels;
  return {pixel / (image[0] * image[1]), pixel / image[1] % image[0], pixel % image[1], i % channels};
}

PENSTOCK_DEVICE inline std::int64_t place(const ImageElement& c, const std::int64_t (&image)[2],
                                          std::int64_t channels) {
  return ((c.sample * image[0] + c.row) * image[1] + c.column) * channels + c.channel;
}

template <class T>
void forward(const LaunchQueue& queue, const PoolSizes& s, const T* x, T* y, float* places) {
  each(queue, s.outputs(), [=] PENSTOCK_DEVICE(std::int64_t i) {
    const ImageElement to = cell(i, s.output, s.channels);
    float sum = 0, most = -INFINITY;
    std::int64_t where = 0;
    for (std::int64_t k = 0; k < s.kernel[0] * s.kernel[1]; ++k) {
      const ImageElement from{to.sample, to.row * s.stride[0] - s.padding[0] + k / s.kernel[1],
                              to.column * s.stride[1] - s.padding[1] + k % s.kernel[1], to.channel};
      if (from.row < 0 || from.row >= s.image[0] || from.column < 0 || from.column >= s.image[1]) continue;
      const float value = load(x[place(from, s.image, s.channels)]);
      sum += value;
      if (value > most) {
        most = value;
        where = k;
      }
    }
    store(y[i], s.average ? sum / static_cast<float>(s.kernel[0] * s.kernel[1]) : most);
    if (!s.average) places[i] = static_cast<float>(where);
  });
}

/// The first window along `axis` that covers `at`, and the first that begins after it.
PENSTOCK_DEVICE inline std::int64_t first_window(const PoolSizes& s, int axis, std::int64_t at) {
  const std::int64_t beyond = at + s.padding[axis] - s.kernel[axis];  // the last cell of the window before
  return beyond < 0 ? 0 : beyond / s.stride[axis] + 1;
}
PENSTOCK_DEVICE inline std::int64_t end_window(const PoolSizes& s, int axis, std::int64_t at) {
  const std::int64_t end = (at + s.padding[axis]) / s.stride[axis] + 1;
  return end < s.output[axis] ? end : s.output[axis];
}

template <class T>
void gradient(const LaunchQueue& queue, const PoolSizes& s, const T* y, const float* places, T* x) {
  each(queue, s.inputs(), [=] PENSTOCK_DEVICE(std::int64_t i) {
    const ImageElement to = cell(i, s.image, s.channels);
    float sum = 0;
    for (std::int64_t row = first_window(s, 0, to.row); row < end_window(s, 0, to.row); ++row)
      for (std::int64_t column = first_window(s, 1, to.column); column < end_window(s, 1, to.column);
           ++column) {
        const std::int64_t from = place({to.sample, row, column, to.channel}, s.output, s.channels);
        const std::int64_t k = (to.row + s.padding[0] - row * s.stride[0]) * s.kernel[1] +
                               (to.column + s.padding[1] - column * s.stride[1]);
        if (s.average)
          sum += load(y[from]) / static_cast<float>(s.kernel[0] * s.kernel[1]);
        else if (places[from] == static_cast<float>(k))
          sum += load(y[from]);
      }
    store(x[i], sum);
  });
}

}  // namespace

void build_pool(KernelDraft& draft) {
  const PoolSizes s = sizes(pool(draft.op), draft.samples);
  if (!s.average) draft.slots.saved = {{"places", draft.slots.output.shape, Element::fp32}};
  const auto places = [s](const KernelProgram::StepContext& run) {
    return s.average ? nullptr : run.as<float>(saved(0));
  };
  draft.forward.call("pool", [=, element = draft.element](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      forward(run.queue, s, run.as<const T>(input(0)), run.as<T>(kOutput), places(run));
    });
  });
  draft.input_gradient.call(
      "pool gradient", [=, element = draft.element](const KernelProgram::StepContext& run) {
        with_element(element, [&](auto zero) {
          using T = decltype(zero);
          gradient(run.queue, s, run.as<const T>(kOutputGradient), places(run), run.as<T>(input_gradient(0)));
        });
      });
}

}  // namespace penstock::kernels::cuda
