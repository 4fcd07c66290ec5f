#include "penstock/cost/cost_model.hpp"

namespace penstock::cost {
namespace {

using core::Bytes;
using graph::Operator;
using graph::OpKind;

Scratch of_attention(const graph::Attention& a, std::int64_t element_bytes) {
  const auto each = [&](std::int64_t elements) { return Line{{}, Bytes(elements * element_bytes)}; };
  const std::int64_t scores = a.core == graph::AttentionCore::flash ? 0 : a.heads * a.queries * a.keys,
                     inner = a.queries * a.inner_width(),
                     given = 2 * (a.keys - a.projected_keys()) * a.shared_width();
  return {each(inner + scores + given), {}, each(inner + 2 * a.keys * a.shared_width())};
}

}  // namespace

Scratch plain_scratch(const graph::OpGraph& graph, core::OpId id) {
  const Operator& op = graph.op(id);
  if (op.kind == OpKind::attention) return of_attention(as<graph::Attention>(op), graph.element_bytes());
  if (op.kind == OpKind::norm) return {{}, {}, {graph.parameter_bytes(id), {}}};
  if (as<graph::Linear>(op).function == graph::Function::none) return {};
  const Line argument{{}, op.output_bytes};
  return {argument, argument, {}};
}

}  // namespace penstock::cost
