#include "weight_parts.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::cost {

using core::Bytes;
using core::OpId;
using plan::Partition;

Bytes rounded_up(Bytes all, double part) {
  return Bytes(static_cast<std::int64_t>(std::ceil(static_cast<double>(all.value()) * part)));
}

namespace {

Bytes sharded(const graph::Operator& op, Partition how, Bytes weights, double part) {
  return layout::rule(op, how).weights ? rounded_up(weights, part) : weights;
}

}  // namespace

Bytes weights_of(const graph::OpGraph& graph, OpId id, Partition how, double part) {
  return sharded(graph.op(id), how, graph.parameter_bytes(id), part);
}
Bytes frozen_of(const graph::OpGraph& graph, OpId id, Partition how, double part) {
  return sharded(graph.op(id), how, graph.frozen_bytes(id), part);
}

std::map<OpId, Partition> partitions(const plan::Stage& stage, const layout::StageLayout& divided) {
  std::map<OpId, Partition> out;
  for (std::size_t i = 0; i < stage.operators.size(); ++i) out[stage.operators[i]] = divided.partition[i];
  return out;
}

Partition partition_of(const std::map<OpId, Partition>& how, OpId id) {
  const auto found = how.find(id);
  return found == how.end() ? Partition::whole : found->second;
}

}  // namespace penstock::cost
