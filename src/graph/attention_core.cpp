#include "penstock/graph/attention_core.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace penstock::graph {
namespace {

using core::Bytes;
using core::OpId;

constexpr std::int64_t kWhole = 4;  // bytes of a number in fp32

OpId op_id(Vertex v) {
  return OpId(static_cast<std::size_t>(v));
}

/// The one product among these vertices that is inside.
std::optional<OpId> product(const OpGraph& graph, std::span<const Vertex> vertices,
                            const std::set<OpId>& inside) {
  std::optional<OpId> out;
  for (const Vertex v : vertices)
    if (graph.op(op_id(v)).kind == OpKind::matmul && inside.contains(op_id(v))) {
      if (out) return {};
      out = op_id(v);
    }
  return out;
}

}  // namespace

bool has_core(const Operator& op) {
  return op.kind == OpKind::attention;
}

Bytes core_bytes(const Operator& op, int element_bytes) {
  if (!has_core(op)) return {};
  const auto& a = as<Attention>(op);
  if (a.core != AttentionCore::flash) return Bytes(a.heads * a.queries * a.keys * element_bytes);
  const std::int64_t numbers = (kWhole * a.heads * a.queries + element_bytes - 1) / element_bytes;
  return Bytes(numbers * element_bytes);
}

double core_share(const Operator& op) {
  if (!has_core(op) || op.forward_flops.value() <= 0) return 0;
  const auto& a = as<Attention>(op);
  const double products = 2.0 * static_cast<double>(a.queries) * static_cast<double>(a.keys) *
                          static_cast<double>(a.inner_width() + a.result_width());
  return std::min(1.0, products / op.forward_flops.value());
}

std::vector<std::vector<OpId>> split_cores(const OpGraph& graph, std::span<const OpId> operators) {
  const std::set<OpId> inside(operators.begin(), operators.end());
  std::vector<std::vector<OpId>> out;
  for (const OpId id : inside) {
    if (graph.op(id).kind != OpKind::softmax) continue;
    const auto vertex = static_cast<Vertex>(id.index());
    const auto scores = product(graph, graph.dag().predecessors(vertex), inside),
               context = product(graph, graph.dag().successors(vertex), inside);
    if (scores && context) out.push_back({*scores, id, *context});
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace penstock::graph
