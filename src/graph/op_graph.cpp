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

core::Bytes OpGraph::frozen_bytes(core::OpId id) const {
  const Operator& op = this->op(id);
  const core::Bytes frozen(op.frozen_parameters * element_bytes_);
  if (op.products == ProductFormat::stored) return frozen;
  return frozen + quantized_bytes(op.products, op.parameters + op.frozen_parameters) * kWeightCopies;
}

core::Flops OpGraph::forward_flops() const {
  core::Flops sum;
  for (const Operator& op : operators_) sum += op.forward_flops;
  return sum;
}

}  // namespace penstock::graph
