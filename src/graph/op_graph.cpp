#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

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
