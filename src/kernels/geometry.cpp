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

std::int64_t read(const Operator& op, const std::string& extent, std::int64_t low = 1,
                  std::int64_t high = kLargestExtent) {
  const auto value = graph::extent(op.shape, extent);
  if (!value) fail(op, extent, "is missing, and a kernel needs it");
  if (*value < low || *value > high)
    fail(op, extent, fmt::format("{} is not from {} to {}", *value, low, high));
  return *value;
}

std::int64_t read_or(const Operator& op, const std::string& extent, std::int64_t usual) {
  return graph::extent(op.shape, extent) ? read(op, extent) : usual;
}

bool flag(const Operator& op, const std::string& extent) {
  return graph::extent(op.shape, extent) && read(op, extent, 0, 1) == 1;
}

/// Of what operators can be, costs know more than kernels.
void refuse(const Operator& op, std::initializer_list<const char*> extents) {
  for (const char* extent : extents)
    if (graph::extent(op, extent) > 0) fail(op, extent, "no kernel computes it");
}

Function function(const Operator& op) {
  for (std::size_t i = 0; i < graph::kFunctions.size(); ++i)
    if (flag(op, graph::kFunctions[i])) return static_cast<Function>(i + 1);
  return Function::none;
}

std::int64_t divided(const Operator& op, std::int64_t whole, const std::string& extent) {
  const std::int64_t part = read(op, extent);
  if (whole % part != 0) fail(op, extent, fmt::format("{} does not divide {}", part, whole));
  return whole / part;
}

Window window(const Operator& op, const std::string& channels) {
  Window w{.channels = read(op, channels), .image = {}, .kernel = {}, .stride = {}, .padding = {}};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::string along = axis == 0 ? "height" : "width";
    w.image[axis] = read(op, along);
    w.stride[axis] = read(op, "stride_" + along);
    w.padding[axis] = read(op, "padding_" + along, 0);
    w.kernel[axis] = read(op, "kernel_" + along, 1, w.image[axis] + 2 * w.padding[axis]);
  }
  return w;
}

}  // namespace

float Attention::scale() const {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(head())));
}

Linear linear(const Operator& op) {
  return {read(op, "rows"), read(op, "in"), read(op, "out"), flag(op, "bias"), function(op)};
}

Product matmul(const Operator& op) {
  return {read(op, "batch"), read(op, "rows"), read(op, "inner"), read(op, "columns")};
}

Convolution convolution(const Operator& op) {
  return {window(op, "in"), read(op, "out"), flag(op, "bias")};
}

Pool pool(const Operator& op) {
  const Pool p{window(op, "channels"), flag(op, "average")};
  for (const std::size_t axis : {0, 1})  // else a window could lie in the padding alone
    if (2 * p.window.padding[axis] > p.window.kernel[axis])
      fail(op, axis == 0 ? "padding_height" : "padding_width", "is more than half the window");
  return p;
}

Norm norm(const Operator& op) {
  refuse(op, {"rms"});
  return {divided(op, read(op, "elements"), "channels"), read(op, "channels"), flag(op, "batch")};
}

Matrix softmax(const Operator& op) {
  return {read(op, "rows"), read(op, "width")};
}

Activation activation(const Operator& op) {
  refuse(op, {"swiglu"});
  return {read(op, "elements"), function(op)};
}

Elementwise elementwise(const Operator& op) {
  return {read(op, "elements"), read(op, "terms", 1, kMostParts), flag(op, "product")};
}

Attention attention(const Operator& op) {
  refuse(op, {"rotary"});
  if (graph::shared_width(op) != graph::extent(op, "hidden")) refuse(op, {"kv_heads"});
  const bool bias = flag(op, "bias");
  const Attention a{read(op, "queries"),
                    read(op, "keys"),
                    read(op, "hidden"),
                    read(op, "heads"),
                    read(op, "key_width"),
                    read(op, "value_width"),
                    read_or(op, "inner", read(op, "hidden")),
                    bias,
                    bias && !flag(op, "partial")};
  divided(op, a.inner, "heads");
  return a;
}

Embedding embedding(const Operator& op) {
  const std::int64_t rows = read(op, "rows"), table = read_or(op, "table", rows);
  const std::int64_t first = graph::extent(op.shape, "first") ? read(op, "first", 0, table - rows) : 0;
  return {read(op, "lookups"), rows, read(op, "width"), first, table, flag(op, "sum")};
}

Concat concat(const Operator& op) {
  Concat c{read(op, "rows"), {}};
  for (std::int64_t i = 0, parts = read(op, "parts", 1, kMostParts); i < parts; ++i)
    c.widths.push_back(read(op, "part" + std::to_string(i)));
  return c;
}

}  // namespace penstock::kernels
