#include "product_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "penstock/graph/adapters.hpp"
#include "penstock/graph/scan_work.hpp"

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
  const double scores = product({a.queries, a.keys, std::max(std::int64_t{1}, a.heads)});
  return {core, core + projections, scores + product({a.queries, a.hidden})};
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
  if (op.kind == OpKind::scan)
    return exact(scan_flops(as<LinearScan>(op)).value() / 2,
                 product({as<LinearScan>(op).rows, as<LinearScan>(op).features()}));
  if (op.kind == OpKind::short_convolution) {
    const auto& c = as<ShortConvolution>(op);
    return exact(product({c.rows, c.channels, c.kernel}), product({c.rows, c.channels}));
  }
  if (op.kind != OpKind::experts) return std::nullopt;
  const auto& e = as<Experts>(op);
  return exact(product({e.matrices(), e.rows, e.chosen, e.hidden, e.inner}),
               product({e.rows, e.chosen, e.matrices(), std::max(e.hidden, e.inner)}));
}

/// Numbers of an operator's weights. Zero matrix: the shape does not give them.
struct WeightCount {
  double matrix = 0, bias = 0;
};

WeightCount weights_of(const Operator& op) {
  if (op.kind == OpKind::linear) {
    const auto& l = as<Linear>(op);
    return {product({l.in, l.out}), l.bias ? product({l.out}) : 0};
  }
  if (op.kind == OpKind::embedding) return {product({as<Embedding>(op).rows, as<Embedding>(op).width})};
  if (op.kind == OpKind::convolution) {
    const auto& c = as<Convolution>(op);
    return {product({c.window.channels, c.window.kernel[0], c.window.kernel[1], c.out}),
            c.bias ? product({c.out}) : 0};
  }
  if (op.kind == OpKind::scan) return {static_cast<double>(as<LinearScan>(op).parameters())};
  if (op.kind == OpKind::short_convolution) {
    const auto& c = as<ShortConvolution>(op);
    return {product({c.channels, c.kernel}), c.bias ? product({c.channels}) : 0};
  }
  if (op.kind != OpKind::experts) return {};
  const auto& e = as<Experts>(op);
  const double biases = product({e.experts, e.matrices() - 1, e.inner}) + product({e.experts, e.hidden});
  return {product({e.experts, e.matrices(), e.hidden, e.inner}), e.bias ? biases : 0};
}

/// All projections with their biases, and norms of queries and keys with biases.
double most_weights(const Attention& a) {
  const std::int64_t asked = std::max(a.hidden, a.query_width);
  const double projections = product({asked, a.inner_width()}) + product({a.key_width, a.projected_width()}) +
                             product({a.value_width, a.values_width()}) +
                             product({a.result_width(), a.hidden});
  const auto widths = static_cast<double>(a.inner_width() + a.shared_width());
  return projections + 3 * widths + static_cast<double>(a.values_width() + a.hidden);
}

/// Numbers of the output; 0: the shape does not give them.
double outputs_of(const Operator& op) {
  switch (op.kind) {
    case OpKind::linear:
      return product({as<Linear>(op).rows, as<Linear>(op).out});
    case OpKind::matmul:
      return product({as<Matmul>(op).batch, as<Matmul>(op).rows, as<Matmul>(op).columns});
    case OpKind::attention:
      return product({as<Attention>(op).queries, as<Attention>(op).hidden});
    case OpKind::experts:
      return product({as<Experts>(op).rows, as<Experts>(op).hidden});
    case OpKind::convolution: {
      const auto work = work_of(as<Convolution>(op));
      return work ? work->outputs : 0;
    }
    case OpKind::embedding: {
      const auto& table = as<Embedding>(op);
      return product({table.sum ? 1 : table.lookups, table.width});
    }
    case OpKind::norm:
      return product({as<Norm>(op).elements});
    case OpKind::activation:
      return product({as<Activation>(op).elements});
    case OpKind::elementwise:
      return product({as<Elementwise>(op).elements});
    case OpKind::pool:
      return product({as<Pool>(op).elements});
    case OpKind::softmax:
      return is_loss(op) ? 0 : product({as<Softmax>(op).rows, as<Softmax>(op).width});
    case OpKind::concat:
      return product({as<Concat>(op).elements});
    case OpKind::scan:
      return product({as<LinearScan>(op).rows, as<LinearScan>(op).features()});
    case OpKind::short_convolution:
      return product({as<ShortConvolution>(op).rows, as<ShortConvolution>(op).channels});
    case OpKind::input:  // indices are wider than other numbers
    case OpKind::reshape:
    case OpKind::profiled:
      break;
  }
  return 0;
}

/// Parameters at most; 0: no such limit is known.
double most_parameters(const Operator& op, bool lends) {
  if (op.kind == OpKind::matmul) {
    const auto& m = as<Matmul>(op);
    return product({m.batch, m.inner, std::max(m.rows, m.columns)});
  }
  const bool limited = op.kind == OpKind::attention && !lends && as<Attention>(op).hidden > 0;
  return limited ? most_weights(as<Attention>(op)) : 0;
}

std::optional<CountFault> parameter_fault(const Operator& op, const char* key, std::int64_t count,
                                          bool lends) {
  const auto stated = static_cast<double>(count);
  if (count == 0) return std::nullopt;
  if (const double most = most_parameters(op, lends); most > 0) {
    if (stated <= most) return std::nullopt;
    return CountFault{key, count, fmt::format("at most {:.0f} parameters", most)};
  }
  const auto [matrix, bias] = weights_of(op);
  if (matrix == 0 || stated == bias) return std::nullopt;
  const auto fits = [&](double each) { return lends ? std::fmod(stated, each) == 0 : stated == each; };
  if (fits(matrix) || fits(matrix + bias)) return std::nullopt;
  return CountFault{key, count, fmt::format("{:.0f} parameters", matrix + bias)};
}

}  // namespace

std::optional<WorkFault> work_fault(const Operator& op) {
  const auto work = work_of(op);
  if (!work || work->full == 0) return std::nullopt;
  const bool attention = op.kind == OpKind::attention, scan = op.kind == OpKind::scan;
  // A product of two activations has a gradient for each; flash kernels compute the scores once more.
  const double most_inputs = attention ? 2.5 : scan || op.kind == OpKind::matmul ? 2 : 1;
  if (attention && op.forward_flops.value() == 0) return WorkFault{"forward_flops", 0, work->full};
  const double adapted = adapter_flops(op).value();
  const auto between = [](core::Flops stated, double least, double most) {
    return stated.value() >= least * (1 - kRounding) && stated.value() <= most * (1 + kRounding);
  };
  const auto wrong = [&](core::Flops stated, double times, double share = 1) {
    const double most = times * work->full + kFused * work->outputs;
    return stated.value() > 0 && !between(stated, share * work->least, most + adapted);
  };
  if (adapted > 0 && !between(op.weight_gradient_flops, adapted, adapted))
    return WorkFault{"weight_gradient_flops", op.weight_gradient_flops.value(), adapted};
  if (wrong(op.forward_flops, 1)) return WorkFault{"forward_flops", op.forward_flops.value(), work->full};
  if (wrong(op.input_gradient_flops, most_inputs))
    return WorkFault{"input_gradient_flops", op.input_gradient_flops.value(), work->full * most_inputs};
  if (adapted == 0 && wrong(op.weight_gradient_flops, 1, attention || scan ? 0 : 1))  // a core has none
    return WorkFault{"weight_gradient_flops", op.weight_gradient_flops.value(), work->full};
  return std::nullopt;
}

std::optional<CountFault> count_fault(const Operator& op, std::int64_t element_bytes, bool lends) {
  if (op.adapter_rank == 0)  // adapters are counted where the graph is built
    if (auto fault = parameter_fault(op, "parameters", op.parameters, lends)) return fault;
  if (auto fault = parameter_fault(op, "frozen_parameters", op.frozen_parameters, lends)) return fault;
  const std::int64_t stated = op.output_bytes.value();
  const double outputs = outputs_of(op);
  if (stated == 0 || outputs == 0) return std::nullopt;
  for (const std::int64_t size : {element_bytes, std::int64_t{2}, std::int64_t{4}, std::int64_t{8}})
    if (static_cast<double>(stated) == outputs * static_cast<double>(size)) return std::nullopt;
  return CountFault{"output_bytes", stated,
                    fmt::format("{:.0f} output bytes for a sample, {} for each number",
                                outputs * static_cast<double>(element_bytes), element_bytes)};
}

}  // namespace penstock::graph
