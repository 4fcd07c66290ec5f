#include <algorithm>

#include "penstock/cost/cost_model.hpp"

namespace penstock::cost {
namespace {

using core::Bytes;
using graph::Operator;
using graph::OpKind;

bool has_function(const Operator& op) {
  return std::ranges::any_of(graph::kFunctions,
                             [&](const char* function) { return extent(op, function) > 0; });
}

Scratch of_attention(const Operator& op, std::int64_t element_bytes) {
  const std::int64_t queries = extent(op, "queries"), keys = extent(op, "keys"),
                     hidden = extent(op, "hidden");
  const auto each = [&](std::int64_t elements) { return Line{{}, Bytes(elements * element_bytes)}; };
  const std::int64_t scores = extent(op, "flash") > 0 ? 0 : extent(op, "heads") * queries * keys;
  return {each(queries * hidden + scores), {}, each(queries * hidden + 2 * keys * shared_width(op))};
}

}  // namespace

Scratch plain_scratch(const graph::OpGraph& graph, core::OpId id) {
  const Operator& op = graph.op(id);
  if (op.kind == OpKind::attention) return of_attention(op, graph.element_bytes());
  if (op.kind == OpKind::norm) return {{}, {}, {graph.parameter_bytes(id), {}}};
  if (op.kind != OpKind::linear || !has_function(op)) return {};
  const Line argument{{}, op.output_bytes};
  return {argument, argument, {}};
}

}  // namespace penstock::cost
