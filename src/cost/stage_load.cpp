#include "penstock/cost/stage_load.hpp"

#include <algorithm>
#include <set>

#include "add_weights.hpp"
#include "penstock/cost/backward_sweep.hpp"
#include "penstock/graph/ties.hpp"
#include "step_memory.hpp"

namespace penstock::cost {
namespace {

using core::Bytes;
using core::OpId;
using plan::MemoryKind;

/// Settings with the precision of the model's numbers, which moments in 8 bits need.
plan::Training stated_numbers(const plan::Training& given, const UpdatedWeights& updated) {
  plan::Training out = given;
  if (!given.precision && updated.number_bytes == 2) out.precision = plan::mixed_precision("bf16");
  return out;
}

/// Moments and master weights. A quantised tensor has a table of 256 fp32 numbers for each moment (torchao).
Bytes state_bytes(const StageLoad& load, const plan::Training& given,
                  const plan::ReplicaPlacement& placement) {
  constexpr std::int64_t kTables = std::int64_t{2} * 256 * 4;
  const plan::Training training = stated_numbers(given, load.updated);
  const StepWeights weights = step_weights(load, placement);
  return training.optimizer_state(weights.own) + training.by_adam().optimizer_state(weights.by_adam) +
         Bytes(load.updated.tables * kTables);
}

}  // namespace

void add_weights(StageLoad& load, Bytes weights, bool table) {
  load.parameters += weights;
  load.largest = std::max(load.largest, weights);
  if (!table) load.fresh = std::max(load.fresh, weights);
}

Bytes batch_statistics(const graph::Operator& op) {
  const auto& norm = as<graph::Norm>(op);
  if (norm.form != graph::NormForm::batch) return {};
  return Bytes(2 * std::int64_t{sizeof(float)} * norm.channels);
}

StageLoad stage_load(const graph::OpGraph& graph, const CostModel& costs,
                     std::span<const core::OpId> operators, cluster::SplitBackward split) {
  const std::set<OpId> inside(operators.begin(), operators.end());
  std::set<OpId> received;
  std::vector<BackwardStep> steps;
  StageLoad load;
  for (OpId id : inside) {
    const graph::Operator& op = graph.op(id);
    for (graph::Vertex v : graph.dag().predecessors(static_cast<graph::Vertex>(id.index()))) {
      const OpId producer(static_cast<std::size_t>(v));
      if (!inside.contains(producer) && received.insert(producer).second)
        load.inputs += graph.op(producer).output_bytes;
    }
    const auto readers = graph.dag().successors(static_cast<graph::Vertex>(id.index()));
    if (std::any_of(readers.begin(), readers.end(),
                    [&](graph::Vertex v) { return !inside.contains(OpId(static_cast<std::size_t>(v))); }))
      load.outputs += op.output_bytes;
    load.activations += op.saved_bytes;
    if (graph::is_loss(op)) load.released += op.saved_bytes;
    load.statistics += batch_statistics(op);
    add_weights(load, graph.parameter_bytes(id), is_table(op));
    load.frozen += graph.frozen_bytes(id);
    if (op.kind == graph::OpKind::experts) load.experts += graph.parameter_bytes(id);
    steps.push_back(backward_step(graph, costs, id));
  }
  for (const auto& [owner, users] : graph::borrowed(graph, operators))
    add_weights(load, graph.parameter_bytes(owner),
                std::ranges::all_of(users, [&](OpId id) { return is_table(graph.op(id)); }));
  load.workspace = backward_workspace(graph, steps);
  load.deferred = deferred_gradients(graph, steps, split);
  return load;
}

plan::MemoryByKind stage_memory(const StageLoad& load, const MemoryRule& rule, const plan::Training& training,
                                std::int64_t samples, std::int64_t in_flight,
                                std::optional<std::int64_t> whole, plan::ReplicaPlacement placement) {
  placement.whole_experts = load.whole_experts;
  const auto held = [&](plan::OverReplicas how) {
    return placement.held(load.parameters, load.experts, how);
  };
  const Bytes padding = owns_matrices(load.updated, placement) ? load.updated.padding : Bytes(0);
  plan::MemoryByKind memory{};
  const Bytes kept =  // padding of weights that FSDP gathers and keeps
      placement.shards_gradients() && !placement.shards_weights()
          ? placement.gathered(load.experts) - load.experts
          : Bytes(0);
  at(memory, MemoryKind::weights) = (held(placement.weights) + padding + kept) * rule.weight_copies +
                                    placement.held(load.frozen, {}, placement.weights);
  at(memory, MemoryKind::gradients) =
      training.held_gradients(held(placement.gradients) +
                              (placement.shards_gradients() ? Bytes(0) : padding)) *
      rule.gradient_copies;
  if (rule.optimizer_state) at(memory, MemoryKind::optimizer) = state_bytes(load, training, placement);
  at(memory, MemoryKind::activations) =
      (load.activations * whole.value_or(in_flight) + (load.saved + load.inputs) * in_flight) *
          (rule.activation_copies * samples) +
      load.statistics * (rule.activation_copies * whole.value_or(in_flight));
  if (rule.transient) {
    at(memory, MemoryKind::workspace) =
        load.workspace.at(samples) + (placement.shards_gradients() ? load.largest - load.fresh : Bytes(0)) +
        load.largest * (placement.shards_weights() ? 2 : 0);
    at(memory, MemoryKind::buffers) = (load.inputs + load.outputs * 2) * samples;
    at(memory, MemoryKind::buckets) = bucket_memory(load.bucket, placement);
  }
  if (rule.optimizer_state && rule.transient)
    at(memory, MemoryKind::step) = step_memory(load.framework, training, step_weights(load, placement));
  return memory;
}

}  // namespace penstock::cost
