#include "penstock/layout/experts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "penstock/graph/with_operators.hpp"
#include "penstock/layout/infer.hpp"
#include "penstock/plan/mesh.hpp"

namespace penstock::layout {
namespace {

using core::Bytes;
using core::OpId;
using Devices = std::vector<core::DeviceId>;

std::int64_t scaled(std::int64_t count, double factor) {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(count) * factor));
}

/// Devices that expert groups consist of: those of one position in tensor-parallel groups, or all of them.
std::vector<Devices> expert_places(const plan::Stage& stage) {
  if (stage.whole_experts) return {stage.devices};
  return plan::Mesh(stage).groups({plan::MeshDim::data, plan::MeshDim::context});
}

}  // namespace

std::vector<Devices> expert_groups(const plan::Stage& stage) {
  const auto size = static_cast<std::size_t>(stage.expert_parallel);
  std::vector<Devices> out;
  for (const Devices& same : expert_places(stage))
    for (std::size_t i = 0; i < same.size(); ++i) {
      if (i % size == 0) out.emplace_back();
      out.back().push_back(same[i]);
    }
  return out;
}

std::vector<Devices> expert_replicas(const plan::Stage& stage) {
  const auto size = static_cast<std::size_t>(stage.expert_parallel);
  std::vector<Devices> out;
  for (const Devices& same : expert_places(stage)) {
    const std::size_t first = out.size();
    out.resize(first + size);
    for (std::size_t i = 0; i < same.size(); ++i) out[first + i % size].push_back(same[i]);
  }
  return out;
}

graph::Operator expert_shard(const graph::Operator& op, int parallel, double imbalance) {
  if (op.kind != graph::OpKind::experts || (parallel == 1 && imbalance == 1)) return op;
  graph::Operator out = op;
  if (auto* e = std::get_if<graph::Experts>(&out.attributes)) {
    e->experts = std::max<std::int64_t>(1, e->experts / parallel);
    e->rows = scaled(e->rows, imbalance);
  }
  for (core::Flops* flops : {&out.forward_flops, &out.input_gradient_flops, &out.weight_gradient_flops})
    *flops = *flops * imbalance;
  out.parameters = (op.parameters + parallel - 1) / parallel;
  out.frozen_parameters = (op.frozen_parameters + parallel - 1) / parallel;
  const Bytes output = std::min(op.output_bytes, op.saved_bytes);  // rows of the device itself
  out.saved_bytes = output + Bytes(scaled((op.saved_bytes - output).value(), imbalance));
  return out;
}

graph::OpGraph expert_graph(const graph::OpGraph& graph, int parallel, double imbalance) {
  std::vector<graph::Operator> operators;
  for (const graph::Operator& op : graph.operators())
    operators.push_back(expert_shard(op, parallel, imbalance));
  return graph::with_operators(graph, std::move(operators));
}

Bytes copied_rows(const graph::Operator& op, int element_bytes) {
  if (op.kind != graph::OpKind::experts) return {};
  const auto& e = as<graph::Experts>(op);
  return Bytes(e.rows * e.chosen * e.hidden * element_bytes);
}

GroupCollectives expert_collectives(OpId op, Bytes rows, const plan::Stage& stage, plan::Partition how,
                                    bool backward) {
  using TransferKind = GroupCollective::TransferKind;
  const bool own = how == plan::Partition::sequence || sends_own_tokens(stage, how);
  const std::int64_t tensors = own ? stage.tensor_parallel : 1;
  const Bytes received(scaled(rows.value(), stage.imbalance)),
      all = Bytes((received.value() + tensors - 1) / tensors) * stage.expert_parallel;
  const auto exchange = [&](bool before) {
    return GroupCollective{TransferKind::all_to_all, op, all, before, GroupScope::experts, false};
  };
  std::vector<GroupCollective> there_and_back = {exchange(true), exchange(false)};
  // Parts of an expert need all rows, and leave partial sums of all.
  if (how == plan::Partition::column && tensors > 1)
    there_and_back = {exchange(true),
                      {TransferKind::all_gather, op, received, true, GroupScope::tensor, false},
                      {TransferKind::all_gather, op, received, false, GroupScope::tensor, true},
                      exchange(false)};
  return {there_and_back, backward ? there_and_back : std::vector<GroupCollective>()};
}

std::vector<std::string> expert_violations(const graph::OpGraph& graph, const plan::Plan& plan) {
  std::vector<std::string> out;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    if (stage.expert_parallel == 1) continue;
    for (const OpId id : stage.operators) {
      const graph::Operator& op = graph.op(id);
      if (op.kind != graph::OpKind::experts) continue;
      const std::int64_t experts = as<graph::Experts>(op).experts;
      if (experts == 0 || experts % stage.expert_parallel != 0)
        out.push_back(
            fmt::format("stage {}: `expert_parallel`: '{}' has {} experts, which {} devices do not divide", s,
                        op.name, experts, stage.expert_parallel));
    }
  }
  return out;
}

}  // namespace penstock::layout
