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

Bytes whole_numbers(std::int64_t bytes, int element_bytes) {
  return Bytes((bytes + element_bytes - 1) / element_bytes * element_bytes);
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
  if (a.core != AttentionCore::flash) {
    // With dropout the shares, the shares that are left, and which these are.
    const std::int64_t each = a.dropout ? 2 * element_bytes + 1 : element_bytes;
    return whole_numbers(a.heads * a.queries * a.keys * each, element_bytes);
  }
  return whole_numbers(kWhole * a.heads * a.queries, element_bytes);
}

double core_share(const Operator& op) {
  if (!has_core(op) || op.forward_flops.value() <= 0) return 0;
  const auto& a = as<Attention>(op);
  const double products = 2.0 * static_cast<double>(a.queries) * static_cast<double>(a.keys) *
                          static_cast<double>(a.inner_width() + a.result_width());
  return std::min(1.0, products / op.forward_flops.value());
}

double unmasked_share(const Attention& a) {
  const auto keys = static_cast<double>(a.keys);
  // A query sees as many keys as come before it, until `reach` of them: a triangle, then a band.
  const double reach = std::clamp(static_cast<double>(a.reach), 1.0, std::max(1.0, keys));
  switch (a.mask) {
    case AttentionMask::none:
      return 1;
    case AttentionMask::causal:
      return 0.5;
    case AttentionMask::blocks:
      return 0.5 * reach / std::max(1.0, keys);
    case AttentionMask::window:
    case AttentionMask::top_k:
      return reach * (keys - 0.5 * reach) / std::max(1.0, keys * keys);
  }
  return 1;
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
