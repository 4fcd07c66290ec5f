#include "penstock/graph/op_graph.hpp"

#include <array>

#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::graph {
namespace {

constexpr std::array<std::string_view, 14> kKindNames = {
    "input",      "linear",      "attention", "embedding", "convolution", "matmul",  "norm",
    "activation", "elementwise", "pool",      "softmax",   "concat",      "reshape", "profiled"};

}  // namespace

std::string_view name(OpKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

OpKind op_kind(std::string_view name) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i)
    if (kKindNames[i] == name) return static_cast<OpKind>(i);
  throw core::BadInput("unknown operator kind '" + std::string(name) + "'; " +
                       core::did_you_mean(name, {kKindNames.begin(), kKindNames.end()}));
}

std::optional<std::int64_t> extent(const Shape& shape, std::string_view name) {
  for (const auto& [key, value] : shape)
    if (key == name) return value;
  return std::nullopt;
}

std::int64_t extent(const Operator& op, std::string_view name, std::int64_t otherwise) {
  return extent(op.shape, name).value_or(otherwise);
}

std::int64_t shared_width(const Operator& attention) {
  const std::int64_t hidden = extent(attention, "hidden"), heads = extent(attention, "heads"),
                     shared = extent(attention, "kv_heads", heads);
  return shared == heads ? hidden : hidden / heads * shared;
}

bool weighs(const Operator& op) {
  return op.parameters > 0 || op.weight_gradient_flops.value() > 0;
}

std::int64_t OpGraph::parameters() const {
  std::int64_t sum = 0;
  for (const Operator& op : operators_) sum += op.parameters;
  return sum;
}

core::Flops OpGraph::forward_flops() const {
  core::Flops sum;
  for (const Operator& op : operators_) sum += op.forward_flops;
  return sum;
}

}  // namespace penstock::graph
