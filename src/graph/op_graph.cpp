#include "penstock/graph/op_graph.hpp"

#include "penstock/graph/adapters.hpp"

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
  const core::Bytes frozen = graph::frozen_bytes(op.frozen_format, op.frozen_parameters, element_bytes_);
  if (op.products == ProductFormat::stored) return frozen;
  const std::int64_t multiplied = op.frozen_parameters + (trains_products(op) ? op.parameters : 0);
  const core::Bytes copies = quantized_bytes(op.products, multiplied) * kWeightCopies;
  return op.frozen_format == FrozenFormat::fp8 ? copies : frozen + copies;
}

core::Flops OpGraph::forward_flops() const {
  core::Flops sum;
  for (const Operator& op : operators_) sum += op.forward_flops;
  return sum;
}

}  // namespace penstock::graph
