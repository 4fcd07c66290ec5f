#include "kernels/reference.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/tape.hpp"

namespace reference {
namespace {

using penstock::graph::Operator;
using penstock::graph::OpKind;
using std::int64_t;

template <class T>
using Many = std::vector<T>;
template <class T>
using Lists = std::vector<std::vector<T>>;

/// Reads extents of one operator in short.
struct OperatorExtents {
  const Operator& op;
  penstock::graph::Shape shape;
  int64_t operator()(const std::string& name) const {
    for (const auto& [extent, value] : shape)
      if (extent == name) return value;
    return 0;
  }
};

template <class T>
Many<T> zeros(int64_t count) {
  return Many<T>(static_cast<std::size_t>(count), T(0));
}

/// x (rows x in) times w^T (out x in), plus b where there is one.
template <class T>
Many<T> dense(const Many<T>& x, const Many<T>& w, const Many<T>* b, int64_t in, int64_t out) {
  const int64_t rows = std::ssize(x) / in;
  Many<T> y = zeros<T>(rows * out);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t o = 0; o < out; ++o) {
      if (b != nullptr) y[r * out + o] = (*b)[o];
      for (int64_t i = 0; i < in; ++i) y[r * out + o] += x[r * in + i] * w[o * in + i];
    }
  return y;
}

template <class T>
T apply(const OperatorExtents& of, const T& x) {
  using std::erf, std::exp, std::tanh;
  if (of("relu") == 1) return value(x) > 0 ? x : T(0);
  if (of("sigmoid") == 1) return T(1) / (T(1) + exp(T(0) - x));
  if (of("tanh") == 1) return tanh(x);
  if (of("gelu") == 1) return T(0.5) * x * (T(1) + erf(x / T(std::sqrt(2.0))));
  return x;
}

template <class T>
void softmax_row(T* x, int64_t width) {
  using std::exp;
  double largest = value(x[0]);
  for (int64_t i = 1; i < width; ++i) largest = std::max(largest, value(x[i]));
  T sum(0);
  for (int64_t i = 0; i < width; ++i) sum += x[i] = exp(x[i] - T(largest));
  for (int64_t i = 0; i < width; ++i) x[i] = x[i] / sum;
}

template <class T>
Many<T> linear(const OperatorExtents& of, const Lists<T>& x, const Lists<T>& p) {
  Many<T> y = dense(x[0], p[0], of("bias") == 1 ? &p[1] : nullptr, of("in"), of("out"));
  for (T& v : y) v = apply(of, v);
  return y;
}

template <class T>
Many<T> matmul(const OperatorExtents& of, int64_t samples, const Lists<T>& x) {
  const int64_t batch = samples * of("batch"), rows = of("rows"), inner = of("inner"),
                columns = of("columns");
  Many<T> y = zeros<T>(batch * rows * columns);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t i = 0; i < inner; ++i)
          y[(b * rows + r) * columns + c] +=
              x[0][(b * rows + r) * inner + i] * x[1][(b * inner + i) * columns + c];
  return y;
}

/// Calls visit(output pixel, input pixel or -1 in the padding, place in the window) for every window.
template <class Visit>
void slide(const OperatorExtents& of, int64_t samples, const Visit& visit) {
  const int64_t h = of("height"), w = of("width"), kh = of("kernel_height"), kw = of("kernel_width");
  const int64_t oh = (h + 2 * of("padding_height") - kh) / of("stride_height") + 1;
  const int64_t ow = (w + 2 * of("padding_width") - kw) / of("stride_width") + 1;
  for (int64_t n = 0; n < samples * oh * ow; ++n)
    for (int64_t k = 0; k < kh * kw; ++k) {
      const int64_t i = n / ow % oh * of("stride_height") - of("padding_height") + k / kw;
      const int64_t j = n % ow * of("stride_width") - of("padding_width") + k % kw;
      const bool inside = i >= 0 && i < h && j >= 0 && j < w;
      visit(n, inside ? (n / (oh * ow) * h + i) * w + j : -1, k);
    }
}

int64_t pixels(const OperatorExtents& of, int64_t samples) {
  int64_t last = 0;
  slide(of, samples, [&](int64_t n, int64_t, int64_t) { last = n; });
  return last + 1;
}

template <class T>
Many<T> convolution(const OperatorExtents& of, int64_t samples, const Lists<T>& x, const Lists<T>& p) {
  const int64_t in = of("in"), out = of("out"), window = of("kernel_height") * of("kernel_width");
  Many<T> y = zeros<T>(pixels(of, samples) * out);
  if (of("bias") == 1)
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = p[1][i % static_cast<std::size_t>(out)];
  slide(of, samples, [&](int64_t to, int64_t from, int64_t k) {
    if (from < 0) return;
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i)
        y[to * out + o] += x[0][from * in + i] * p[0][(o * window + k) * in + i];
  });
  return y;
}

template <class T>
Many<T> pool(const OperatorExtents& of, int64_t samples, const Lists<T>& x) {
  const int64_t channels = of("channels");
  const auto cells = static_cast<double>(of("kernel_height") * of("kernel_width"));
  const bool average = of("average") == 1;
  Many<T> y(static_cast<std::size_t>(pixels(of, samples) * channels), T(average ? 0 : -1e300));
  slide(of, samples, [&](int64_t to, int64_t from, int64_t) {
    if (from < 0) return;
    for (int64_t c = 0; c < channels; ++c) {
      T& result = y[to * channels + c];
      const T& seen = x[0][from * channels + c];
      if (average)
        result += seen / T(cells);
      else if (value(seen) > value(result))
        result = seen;
    }
  });
  return y;
}

/// Scales `count` numbers, `stride` apart, to mean 0 and variance 1.
template <class T>
void standardise(T* x, int64_t count, int64_t stride) {
  using std::sqrt;
  T mean(0), variance(0);
  for (int64_t i = 0; i < count; ++i) mean += x[i * stride] / T(static_cast<double>(count));
  for (int64_t i = 0; i < count; ++i)
    variance += (x[i * stride] - mean) * (x[i * stride] - mean) / T(static_cast<double>(count));
  const T deviation = sqrt(variance + T(1e-5));
  for (int64_t i = 0; i < count; ++i) x[i * stride] = (x[i * stride] - mean) / deviation;
}

template <class T>
Many<T> norm(const OperatorExtents& of, const Lists<T>& x, const Lists<T>& p) {
  Many<T> y = x[0];
  const int64_t channels = of("channels"), rows = std::ssize(y) / channels;
  if (of("batch") == 1)
    for (int64_t c = 0; c < channels; ++c) standardise(&y[c], rows, channels);
  else
    for (int64_t r = 0; r < rows; ++r) standardise(&y[r * channels], channels, 1);
  for (int64_t i = 0; i < rows * channels; ++i) y[i] = y[i] * p[0][i % channels] + p[1][i % channels];
  return y;
}

template <class T>
Many<T> softmax(const OperatorExtents& of, const Lists<T>& x) {
  Many<T> y = x[0];
  for (int64_t row = 0; row < std::ssize(y); row += of("width")) softmax_row(&y[row], of("width"));
  return y;
}

template <class T>
Many<T> elementwise(const OperatorExtents& of, const Lists<T>& x) {
  Many<T> y = x[0];
  for (std::size_t t = 1; t < x.size(); ++t)
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = of("product") == 1 ? y[i] * x[t][i] : y[i] + x[t][i];
  return y;
}

int64_t inner_of(const OperatorExtents& of) {
  return of("inner") > 0 ? of("inner") : of("hidden");
}

/// The attention of one head on one sample: weighted sums of values, into `context`.
template <class T>
void attend(const Many<T>& q, const Many<T>& k, const Many<T>& v, const OperatorExtents& of, int64_t sample,
            int64_t head, Many<T>& context) {
  const int64_t inner = inner_of(of), width = inner / of("heads"), keys = of("keys");
  const auto at = [&](int64_t token, int64_t i) { return token * inner + head * width + i; };
  for (int64_t token = sample * of("queries"); token < (sample + 1) * of("queries"); ++token) {
    Many<T> shares = zeros<T>(keys);
    for (int64_t j = 0; j < keys; ++j)
      for (int64_t i = 0; i < width; ++i)
        shares[j] += q[at(token, i)] * k[at(sample * keys + j, i)] / T(std::sqrt(static_cast<double>(width)));
    softmax_row(shares.data(), keys);
    for (int64_t j = 0; j < keys; ++j)
      for (int64_t i = 0; i < width; ++i) context[at(token, i)] += shares[j] * v[at(sample * keys + j, i)];
  }
}

template <class T>
Many<T> attention(const OperatorExtents& of, int64_t samples, const Lists<T>& x, const Lists<T>& p) {
  const int64_t hidden = of("hidden"), in[] = {hidden, of("key_width"), of("value_width")};
  const int64_t inner = inner_of(of);
  const auto shift = [&](std::size_t i) {
    return of("bias") == 1 && (i < 3 || of("partial") == 0) ? &p[4 + i] : nullptr;
  };
  Lists<T> projected;
  for (std::size_t i = 0; i < 3; ++i) projected.push_back(dense(x[i], p[i], shift(i), in[i], inner));
  Many<T> context = zeros<T>(samples * of("queries") * inner);
  for (int64_t sample = 0; sample < samples; ++sample)
    for (int64_t head = 0; head < of("heads"); ++head)
      attend(projected[0], projected[1], projected[2], of, sample, head, context);
  return dense(context, p[3], shift(3), inner, hidden);
}

template <class T>
Many<T> embedding(const OperatorExtents& of, const Lists<T>& x, const Lists<T>& p) {
  const int64_t width = of("width"), bag = of("sum") == 1 ? of("lookups") : 1;
  Many<T> y = zeros<T>(std::ssize(x[0]) / bag * width);
  for (int64_t i = 0; i < std::ssize(x[0]); ++i) {
    const int64_t row = static_cast<int64_t>(value(x[0][i])) - of("first");
    for (int64_t j = 0; j < width && row >= 0 && row < of("rows"); ++j)
      y[i / bag * width + j] += p[0][row * width + j];
  }
  return y;
}

template <class T>
Many<T> concat(const OperatorExtents& of, int64_t samples, const Lists<T>& x) {
  Many<T> y;
  for (int64_t row = 0; row < samples * of("rows"); ++row)
    for (std::size_t i = 0; i < x.size(); ++i) {
      const int64_t width = of("part" + std::to_string(i));
      y.insert(y.end(), x[i].begin() + row * width, x[i].begin() + (row + 1) * width);
    }
  return y;
}

/// One row through one expert.
template <class T>
Many<T> one_expert(const OperatorExtents& of, const Many<T>& x, const Lists<T>& p, int64_t expert) {
  using std::erf, std::exp;
  const int64_t hidden = of("hidden"), inner = of("inner");
  const auto matrix = [&](std::size_t i) {
    return Many<T>(p[i].begin() + expert * hidden * inner, p[i].begin() + (expert + 1) * hidden * inner);
  };
  const bool gated = of("gated") == 1;
  Many<T> middle = dense<T>(x, matrix(0), nullptr, hidden, inner);
  if (gated) {
    const Many<T> up = dense<T>(x, matrix(1), nullptr, hidden, inner);
    for (int64_t i = 0; i < inner; ++i) middle[i] = middle[i] / (T(1) + exp(T(0) - middle[i])) * up[i];
  } else {
    for (T& v : middle) v = T(0.5) * v * (T(1) + erf(v / T(std::sqrt(2.0))));
  }
  return dense<T>(middle, matrix(gated ? 2 : 1), nullptr, inner, hidden);
}

/// Row by row: its most probable experts one after the other, each found by a search of its own. Or those
/// that follow the last row's, every sample's first row beginning at the first expert.
template <class T>
Many<T> experts(const OperatorExtents& of, const Lists<T>& x, const Lists<T>& p) {
  const int64_t hidden = of("hidden"), all = of("experts");
  Many<T> y = zeros<T>(std::ssize(x[0]));
  for (int64_t row = 0; row < std::ssize(x[0]) / hidden; ++row) {
    const Many<T> mine(x[0].begin() + row * hidden, x[0].begin() + (row + 1) * hidden);
    const T* probability = &x[1][row * all];
    std::vector<int64_t> chosen;
    T sum(0);
    for (int64_t next = row % of("rows") * of("chosen"); of("in_turn") && std::ssize(chosen) < of("chosen");
         ++next) {
      chosen.push_back(next % all);
      sum += probability[chosen.back()];
    }
    while (std::ssize(chosen) < of("chosen")) {
      int64_t best = -1;
      for (int64_t e = 0; e < all; ++e)
        if (std::ranges::count(chosen, e) == 0 &&
            (best < 0 || value(probability[e]) > value(probability[best])))
          best = e;
      chosen.push_back(best);
      sum += probability[best];
    }
    for (const int64_t e : chosen) {
      const Many<T> made = one_expert(of, mine, p, e);
      for (int64_t i = 0; i < hidden; ++i) y[row * hidden + i] += probability[e] / sum * made[i];
    }
  }
  return y;
}

template <class T>
Many<T> run(const Operator& op, int64_t samples, const Lists<T>& x, const Lists<T>& p) {
  const OperatorExtents of{op, shape_of(op.attributes)};
  switch (op.kind) {
    case OpKind::linear:
      return linear(of, x, p);
    case OpKind::matmul:
      return matmul(of, samples, x);
    case OpKind::convolution:
      return convolution(of, samples, x, p);
    case OpKind::pool:
      return pool(of, samples, x);
    case OpKind::norm:
      return norm(of, x, p);
    case OpKind::softmax:
      return softmax(of, x);
    case OpKind::elementwise:
      return elementwise(of, x);
    case OpKind::attention:
      return attention(of, samples, x, p);
    case OpKind::embedding:
      return embedding(of, x, p);
    case OpKind::concat:
      return concat(of, samples, x);
    case OpKind::experts:
      return experts(of, x, p);
    case OpKind::activation: {
      Many<T> y = x[0];
      for (T& v : y) v = apply(of, v);
      return y;
    }
    default:
      throw std::logic_error("no reference for this kind");
  }
}

Lists<TapeVariable> leaves(const std::vector<Values>& lists) {
  Lists<TapeVariable> result;
  for (const Values& list : lists) {
    result.emplace_back();
    for (const double v : list) result.back().push_back(TapeVariable::leaf(v));
  }
  return result;
}

std::vector<Values> pick(const std::vector<double>& slope, const Lists<TapeVariable>& of) {
  std::vector<Values> result;
  for (const auto& list : of) {
    result.emplace_back();
    for (const TapeVariable& v : list) result.back().push_back(slope[v.step]);
  }
  return result;
}

}  // namespace

Values forward(const Operator& op, int64_t samples, const Operands& operands) {
  return run<double>(op, samples, operands.inputs, operands.parameters);
}

Operands gradients(const Operator& op, int64_t samples, const Operands& operands, const Values& y_gradient) {
  tape().clear();
  const Lists<TapeVariable> x = leaves(operands.inputs), p = leaves(operands.parameters);
  const std::vector<double> slope = slopes(run<TapeVariable>(op, samples, x, p), y_gradient);
  return {pick(slope, x), pick(slope, p)};
}

}  // namespace reference
