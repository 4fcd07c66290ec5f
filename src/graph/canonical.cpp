#include "penstock/graph/canonical.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "penstock/graph/graph_builder.hpp"

namespace penstock::graph {
namespace {

using core::OpId;

/// Sorts by name, with numbers by value (GNU strverscmp).
void sort_by_name(const OpGraph& graph, std::vector<OpId>& operators) {
  std::ranges::sort(operators, [&](OpId a, OpId b) {
    return strverscmp(graph.op(a).name.c_str(), graph.op(b).name.c_str()) < 0;
  });
}

std::vector<OpId> outputs_by_name(const OpGraph& graph) {
  std::vector<OpId> out;
  for (std::size_t v = 0; v < graph.size(); ++v)
    if (graph.dag().successors(static_cast<Vertex>(v)).empty()) out.emplace_back(v);
  sort_by_name(graph, out);
  return out;
}

/// Operators that come before `id`: its operands, then the owner of its parameters.
std::vector<OpId> required_by(const OpGraph& graph, OpId id) {
  std::vector<OpId> out = graph.operands(id);
  if (!graph.operands_ordered()) sort_by_name(graph, out);
  if (graph.owner(id) != id) out.push_back(graph.owner(id));
  return out;
}

/// Depth-first search with a stack of its own: a chain may be longer than the call stack allows.
class PostOrder {
 public:
  explicit PostOrder(const OpGraph& graph) : graph_(graph), seen_(graph.size()) {}

  std::vector<OpId> run() {
    for (const OpId output : outputs_by_name(graph_)) {
      enter(output);
      while (!open_.empty()) advance();
    }
    return std::move(order_);
  }

 private:
  struct SearchFrame {
    OpId op;
    std::vector<OpId> required;
    std::size_t next = 0;
  };
  void enter(OpId op) {
    if (seen_[op.index()]) return;
    seen_[op.index()] = true;
    open_.push_back({op, required_by(graph_, op)});
  }
  void advance() {
    SearchFrame& top = open_.back();
    if (top.next < top.required.size()) return enter(top.required[top.next++]);
    order_.push_back(top.op);
    open_.pop_back();
  }

  const OpGraph& graph_;
  std::vector<bool> seen_;
  std::vector<SearchFrame> open_;
  std::vector<OpId> order_;
};

}  // namespace

OpGraph canonical(OpGraph graph) {
  const std::vector<OpId> order = PostOrder(graph).run();
  if (std::ranges::is_sorted(order)) return graph;
  std::vector<OpId> place(graph.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i].index()] = OpId(i);
  GraphBuilder builder(graph.name(), graph.element_bytes());
  for (const OpId op : order) {
    std::vector<OpId> operands;
    for (const OpId operand : graph.operands(op)) operands.push_back(place[operand.index()]);
    builder.add(graph.op(op), operands);
  }
  if (!graph.operands_ordered()) builder.forget_operand_order();
  return builder.build();
}

}  // namespace penstock::graph
