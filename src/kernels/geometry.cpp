#include "geometry.hpp"

#include <fmt/format.h>

#include <cmath>

#include "penstock/core/error.hpp"

namespace penstock::kernels {
namespace {

using graph::Operator;

constexpr std::int64_t kLargestExtent = std::int64_t{1} << 36, kMostParts = 4096;

[[noreturn]] void fail(const Operator& op, const std::string& extent, const std::string& why) {
  throw core::BadInput(
      fmt::format("operator '{}' ({}): shape: {}: {}", op.name, graph::name(op.kind), extent, why));
}

/// Returns an extent after checking its range; zero means missing.
std::int64_t in_range(const Operator& op, const std::string& extent, std::int64_t value, std::int64_t low = 1,
                      std::int64_t high = kLargestExtent) {
  if (value == 0 && low > 0) fail(op, extent, "is missing, and a kernel needs it");
  if (value < low || value > high) fail(op, extent, fmt::format("{} is not from {} to {}", value, low, high));
  return value;
}

void check(const Operator& op, std::initializer_list<std::pair<const char*, std::int64_t>> extents) {
  for (const auto& [extent, value] : extents) in_range(op, extent, value);
}

/// Refuses attributes that costs support but kernels do not.
void refuse(const Operator& op, const char* extent, bool asked) {
  if (asked) fail(op, extent, "no kernel computes it");
}

std::int64_t quotient(const Operator& op, std::int64_t whole, const char* extent, std::int64_t part) {
  in_range(op, extent, part);
  if (whole % part != 0) fail(op, extent, fmt::format("{} does not divide {}", part, whole));
  return whole / part;
}

void check_window(const Operator& op, const Window& w, const char* channels) {
  in_range(op, channels, w.channels);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::string along = axis == 0 ? "height" : "width";
    in_range(op, along, w.image[axis]);
    in_range(op, "stride_" + along, w.stride[axis]);
    in_range(op, "padding_" + along, w.padding[axis], 0);
    in_range(op, "kernel_" + along, w.kernel[axis], 1, w.image[axis] + 2 * w.padding[axis]);
  }
}

}  // namespace

float Attention::scale() const {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(head())));
}

Linear linear(const Operator& op) {
  const auto& l = as<Linear>(op);
  check(op, {{"rows", l.rows}, {"in", l.in}, {"out", l.out}});
  return l;
}

Product matmul(const Operator& op) {
  const auto& p = as<Product>(op);
  check(op, {{"batch", p.batch}, {"rows", p.rows}, {"inner", p.inner}, {"columns", p.columns}});
  return p;
}

Convolution convolution(const Operator& op) {
  const auto& c = as<Convolution>(op);
  check_window(op, c.window, "in");
  check(op, {{"out", c.out}});
  return c;
}

Pool pool(const Operator& op) {
  const auto& p = as<Pool>(op);
  check_window(op, p.window, "channels");
  for (const std::size_t axis : {0, 1})  // otherwise a window could lie entirely in the padding
    if (2 * p.window.padding[axis] > p.window.kernel[axis])
      fail(op, axis == 0 ? "padding_height" : "padding_width", "is more than half the window");
  return p;
}

Norm norm(const Operator& op) {
  const auto& n = as<graph::Norm>(op);
  refuse(op, "rms", n.form == graph::NormForm::rms);
  refuse(op, "gated", n.form == graph::NormForm::gated);
  const std::int64_t elements = in_range(op, "elements", n.elements);
  return {quotient(op, elements, "channels", n.channels), n.channels, n.form == graph::NormForm::batch};
}

Softmax softmax(const Operator& op) {
  const auto& s = as<Softmax>(op);
  check(op, {{"rows", s.rows}, {"width", s.width}});
  return s;
}

Activation activation(const Operator& op) {
  const auto& a = as<Activation>(op);
  refuse(op, "swiglu", a.function == Function::swiglu);
  check(op, {{"elements", a.elements}});
  return a;
}

Elementwise elementwise(const Operator& op) {
  const auto& e = as<Elementwise>(op);
  refuse(op, "dropout", e.dropout);
  check(op, {{"elements", e.elements}});
  in_range(op, "terms", e.terms, 1, kMostParts);
  return e;
}

Attention attention(const Operator& op) {
  const auto& a = as<graph::Attention>(op);
  refuse(op, "rotary", a.rotary);
  refuse(op, "dropout", a.dropout);
  refuse(op, "qkv_bias", a.qkv_bias);
  refuse(op, "qk_norm", a.qk_norm);
  refuse(op, "own_keys", a.own_keys != 0);
  refuse(op, "query_width", a.query_width > 0);
  refuse(op, "value_head", a.value_head > 0);
  refuse(op, "rotary_width", a.rotary_width > 0);
  refuse(op, "kv_heads", a.shared_width() != a.inner_width());
  check(op, {{"queries", a.queries},
             {"keys", a.keys},
             {"hidden", a.hidden},
             {"heads", a.heads},
             {"key_width", a.key_width},
             {"value_width", a.value_width}});
  const std::int64_t inner = a.inner == 0 ? a.hidden : in_range(op, "inner", a.inner);
  quotient(op, inner, "heads", a.heads);
  return {a.queries,           a.keys, a.hidden, a.heads, a.key_width, a.value_width, inner, a.bias,
          a.bias && !a.partial};
}

Embedding embedding(const Operator& op) {
  const auto& e = as<graph::Embedding>(op);
  check(op, {{"lookups", e.lookups}, {"rows", e.rows}, {"width", e.width}});
  const std::int64_t table = e.table == 0 ? e.rows : in_range(op, "table", e.table);
  return {e.lookups, e.rows, e.width, in_range(op, "first", e.first, 0, table - e.rows), table, e.sum};
}

Experts experts(const Operator& op) {
  const auto& e = as<Experts>(op);
  check(op, {{"rows", e.rows}, {"hidden", e.hidden}, {"inner", e.inner}, {"experts", e.experts}});
  in_range(op, "chosen", e.chosen, 1, e.experts);
  refuse(op, "bias", e.bias);
  refuse(op, "clamped", e.clamped);
  return e;
}

Concat concat(const Operator& op) {
  const auto& c = as<Concat>(op);
  check(op, {{"rows", c.rows}});
  in_range(op, "parts", std::ssize(c.widths), 1, kMostParts);
  for (std::size_t i = 0; i < c.widths.size(); ++i) in_range(op, "part" + std::to_string(i), c.widths[i]);
  return c;
}

}  // namespace penstock::kernels
