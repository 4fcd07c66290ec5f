#include "penstock/graph/with_operators.hpp"

#include "penstock/core/error.hpp"
#include "penstock/graph/graph_builder.hpp"

namespace penstock::graph {

OpGraph with_operators(const OpGraph& graph, std::vector<Operator> operators) {
  core::require(operators.size() == graph.size(), "every operator becomes another");
  GraphBuilder builder(graph.name(), graph.element_bytes());
  for (std::size_t v = 0; v < graph.size(); ++v)
    builder.add(std::move(operators[v]), graph.operands(core::OpId(v)));
  if (!graph.operands_ordered()) builder.forget_operand_order();
  return builder.build();
}

}  // namespace penstock::graph
