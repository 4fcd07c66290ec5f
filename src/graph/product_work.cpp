#include "product_work.hpp"

#include <algorithm>
#include <cstdint>

namespace penstock::graph {
namespace {

constexpr double kFused = 32;                ///< FLOPs at most for each output, of a bias and a function
constexpr double kRounding = 1e-3;           ///< counts may be written with few digits
constexpr std::int64_t kMostTaps = 1 << 20;  ///< positions of a window that are counted one by one

/// Work of one pass: FLOPs without padding, FLOPs by shape, and numbers made.
struct ProductWork {
  double least = 0, full = 0, outputs = 0;
};

double product(std::initializer_list<std::int64_t> extents) {
  double out = 1;
  for (const std::int64_t extent : extents) out *= static_cast<double>(extent);
  return out;
}

ProductWork exact(double products, double outputs) {
  return {2 * products, 2 * products, outputs};
}

/// Pairs of an output and a number of the image that it reads, along one axis.
std::int64_t taps(const Window& window, std::size_t axis) {
  std::int64_t out = 0;
  for (std::int64_t o = 0; o < window.output(axis); ++o) {
    const std::int64_t begin = o * window.stride[axis] - window.padding[axis];
    out += std::max(std::int64_t{0}, std::min(begin + window.kernel[axis], window.image[axis]) -
                                         std::max(begin, std::int64_t{0}));
  }
  return out;
}

std::optional<ProductWork> work_of(const Convolution& op) {
  const Window& window = op.window;
  ProductWork out{2 * product({window.channels, op.out}), 2 * product({window.channels, op.out}),
                  product({op.out})};
  for (const std::size_t axis : {0, 1}) {
    if (window.stride[axis] < 1 || window.kernel[axis] < 1 || window.output(axis) < 1) return std::nullopt;
    const std::int64_t outputs = window.output(axis);
    out.least *= outputs > kMostTaps ? 0 : static_cast<double>(taps(window, axis));
    out.full *= product({outputs, window.kernel[axis]});
    out.outputs *= product({outputs});
  }
  return out;
}

/// At least the core: the projections may be separate operators.
ProductWork work_of(const Attention& a) {
  const double core = 2 * product({a.queries, a.keys, a.inner_width() + a.result_width()});
  const std::int64_t asked = std::max(a.hidden, a.query_width);
  const double projections = 2 * (product({a.queries, asked, a.inner_width()}) +
                                  product({a.projected_keys(), a.key_width, a.projected_width()}) +
                                  product({a.projected_keys(), a.value_width, a.values_width()}) +
                                  product({a.queries, a.result_width(), a.hidden}));
  const std::int64_t scores = a.queries * a.keys * std::max(std::int64_t{1}, a.heads);
  return {core, core + projections, static_cast<double>(scores + a.queries * a.hidden)};
}

std::optional<ProductWork> work_of(const Operator& op) {
  if (op.kind == OpKind::attention) return work_of(as<Attention>(op));
  if (op.kind == OpKind::convolution) return work_of(as<Convolution>(op));
  if (op.kind == OpKind::linear) {
    const auto& l = as<Linear>(op);
    return exact(product({l.rows, l.in, l.out}), product({l.rows, l.out}));
  }
  if (op.kind == OpKind::matmul) {
    const auto& m = as<Matmul>(op);
    return exact(product({m.batch, m.rows, m.inner, m.columns}), product({m.batch, m.rows, m.columns}));
  }
  if (op.kind != OpKind::experts) return std::nullopt;
  const auto& e = as<Experts>(op);
  return exact(product({e.matrices(), e.rows, e.chosen, e.hidden, e.inner}),
               product({e.rows, e.chosen, e.matrices(), std::max(e.hidden, e.inner)}));
}

}  // namespace

std::optional<WorkFault> work_fault(const Operator& op) {
  const auto work = work_of(op);
  if (!work || work->full == 0) return std::nullopt;
  const bool attention = op.kind == OpKind::attention;
  // A product of two activations has a gradient for each; flash kernels compute the scores once more.
  const double most_inputs = attention ? 2.5 : op.kind == OpKind::matmul ? 2 : 1;
  if (attention && op.forward_flops.value() == 0) return WorkFault{"forward_flops", 0, work->full};
  const auto wrong = [&](core::Flops stated, double times, double share = 1) {
    const double most = times * work->full + kFused * work->outputs;
    return stated.value() > 0 && (stated.value() < share * work->least * (1 - kRounding) ||
                                  stated.value() > most * (1 + kRounding));
  };
  if (wrong(op.forward_flops, 1)) return WorkFault{"forward_flops", op.forward_flops.value(), work->full};
  if (wrong(op.input_gradient_flops, most_inputs))
    return WorkFault{"input_gradient_flops", op.input_gradient_flops.value(), work->full * most_inputs};
  if (wrong(op.weight_gradient_flops, 1, attention ? 0 : 1))  // the core has no weights
    return WorkFault{"weight_gradient_flops", op.weight_gradient_flops.value(), work->full};
  return std::nullopt;
}

}  // namespace penstock::graph
