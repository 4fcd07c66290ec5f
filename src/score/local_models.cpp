#include "local_models.hpp"

#include <algorithm>

#include "penstock/layout/context.hpp"
#include "penstock/layout/experts.hpp"

namespace penstock::score {
namespace {

using core::OpId;

bool any(const graph::OpGraph& graph, auto&& holds) {
  for (std::size_t op = 0; op < graph.size(); ++op)
    if (holds(OpId(op))) return true;
  return false;
}

bool has_experts(const graph::OpGraph& graph, OpId op, int parallel) {
  const graph::Operator& known = graph.op(op);
  return known.kind == graph::OpKind::experts && as<graph::Experts>(known).experts % parallel == 0;
}

/// Adds models with divided experts and the same tokens.
void add_experts(const graph::OpGraph& graph, int context, int most, std::vector<LocalModel>& out) {
  for (int e = 2; e <= most; ++e)
    if (any(graph, [&](OpId op) { return has_experts(graph, op, e); }))
      out.push_back({context, e, layout::expert_graph(graph, e, 1)});
}

}  // namespace

std::vector<LocalModel> local_models(const graph::OpGraph& graph, int most_context, int most_experts) {
  std::vector<LocalModel> out{{1, 1, graph}};
  add_experts(graph, 1, most_experts, out);
  for (int c = 2; c <= most_context; ++c) {
    if (!any(graph, [&](OpId op) { return !layout::token_violation(graph, op, c); })) continue;
    const graph::OpGraph local = layout::local_graph(graph, c);
    out.push_back({c, 1, local});
    add_experts(local, c, most_experts, out);
  }
  return out;
}

bool divides(const graph::OpGraph& whole, OpId op, const LocalModel& local) {
  if (local.experts > 1 && !has_experts(whole, op, local.experts)) return false;
  return local.context == 1 || !layout::token_violation(whole, op, local.context);
}

}  // namespace penstock::score
