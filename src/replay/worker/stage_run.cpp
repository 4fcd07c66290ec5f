#include "worker/stage_run.hpp"

#include <fmt/format.h>

#include "penstock/core/error.hpp"
#include "penstock/cost/calibration.hpp"

namespace penstock::replay {

using core::OpId;
using graph::OpKind;
using graph::Vertex;
using kernels::Slot;
using plan::MemoryKind;

StageRun::StageRun(DeviceContext& device, const plan::Stage& stage, VersionUse use, std::int64_t mini_batch,
                   std::int64_t mini_batches)
    : device_(device),
      stage_(stage),
      own_(stage.operators.begin(), stage.operators.end()),
      segments_(device.graph, stage),
      weights_(device, stage.operators, std::move(use)),
      data_(device),
      mini_batch_(mini_batch),
      mini_batches_(mini_batches) {
  for (const OpId id : own_) {
    const auto readers = device.graph.dag().successors(static_cast<Vertex>(id.index()));
    if (readers.empty() && device.wire(id).trains) unread_.insert(id);
    for (const Vertex v : readers)
      if (!own_.contains(OpId(static_cast<std::size_t>(v)))) outputs_.insert(id);
    for (std::size_t i = 0; i < device.wire(id).sources.size(); ++i) {
      const OpId source = device.wire(id).sources[i];
      last_reader_[source] = id;
      first_reader_.try_emplace({source, device.shard(id).reads[i]}, id);
      if (!segments_.of(id)) kept_.insert({source, device.shard(id).reads[i]});
    }
    if (const auto over = kernels::works_in_place(device.graph, device.wires, id)) {
      const OpId source = device.wire(id).sources[*over];
      if ((own_.contains(source) || !stage.recompute) && segments_.of(source) == segments_.of(id) &&
          device.shard(id).makes == device.shard(id).reads[*over])
        in_place_.emplace(id, *over);
    }
  }
  if (device.grouped()) note_collectives();
  if (stage.context_parallel > 1) context_.emplace(device.cluster, stage);
}

/// Collectives of layout::infer for tensors received in parts, and for gradients of whole tensors that left.
void StageRun::note_collectives() {
  std::set<std::pair<OpId, layout::Placement>> seen;
  for (const OpId id : outputs_)
    if (!sharding_of(id).whole()) packed_.insert(id);
  for (const OpId id : own_) {
    for (std::size_t i = 0; i < device_.wire(id).sources.size(); ++i)
      if (device_.shard(id).reads[i].whole()) packed_.erase(device_.wire(id).sources[i]);
    const layout::Placement needed = layout::rule(device_.graph.op(id), device_.shard(id).how).reads;
    for (const OpId source : device_.wire(id).sources)
      if (!own_.contains(source) && seen.insert({source, needed}).second)
        for (const auto& c :
             layout::convert(device_.graph, source, layout::Placement::sharded, needed, id).forward)
          input_collectives_.push_back(c);
    if (outputs_.contains(id) && sharding_of(id).whole())
      gradient_collectives_.push_back(
          {layout::GroupCollective::TransferKind::all_gather, id, device_.graph.op(id).output_bytes});
  }
}

void StageRun::prepare(SampleRange samples) {
  for (const OpId id : own_) {
    device_.setup.stop.check();
    if (device_.graph.op(id).kind == OpKind::input) data_.input(id, samples);
    if (has_kernel(id) || shows_part(id)) kernel(id, samples.count);
    if (device_.shard(id).after) device_.kernels.of(*device_.shard(id).after, samples.count);
    if (unread_.contains(id)) data_.negative_target(id, samples);
  }
}

Lease StageRun::tensor(std::int32_t micro_batch, OpId op) const {
  const InFlight& state = in_flight_.at(micro_batch);
  return sharding_of(op).whole() ? state.tensors.at(op) : state.resharded.at({op, TensorSharding()});
}

Lease StageRun::gradient(std::int32_t micro_batch, OpId op) const {
  const auto& gradients = in_flight_.at(micro_batch).gradients;
  const auto found = gradients.find(op);
  return found == gradients.end() ? nullptr : found->second.at(TensorSharding());
}

void StageRun::let_go(std::int32_t micro_batch, schedule::ActionKind kind) {
  InFlight& state = in_flight_.at(micro_batch);
  if (kind == schedule::ActionKind::forward)
    for (const OpId id : packed_) state.resharded.erase({id, TensorSharding()});
  if (kind == schedule::ActionKind::forward && segments_.count() > 0) {
    std::erase_if(state.tensors, [&](const auto& tensor) {
      return own_.contains(tensor.first) && !segments_.lasts(tensor.first);
    });
    std::erase_if(state.resharded, [&](const auto& entry) { return !kept_.contains(entry.first); });
  }
  if (kind == schedule::ActionKind::input_gradient) {
    std::erase_if(state.gradients, [&](const auto& gradient) { return !own_.contains(gradient.first); });
    const auto of_loss = [&](const auto& held) {
      return own_.contains(held.first) && graph::is_loss(device_.graph.op(held.first));
    };
    std::erase_if(state.tensors, of_loss);  // as all_saved does (cluster/framework_memory.hpp)
    std::erase_if(state.saved, of_loss);
  }
  if (kind == schedule::ActionKind::backward || kind == schedule::ActionKind::weight_gradient)
    in_flight_.erase(micro_batch);
}

bool StageRun::shows_part(OpId id) const {
  if (!kernels::is_view(device_.graph.op(id))) return false;
  const kernels::OperatorWiring& view = device_.wire(id);
  return view.made.count < device_.wire(view.sources[0]).made.count;
}

layout::Placement StageRun::placement_of(OpId id) const {
  return own_.contains(id) ? sharding_of(id).placement : layout::Placement::sharded;
}

TensorExtent StageRun::extent(const InFlight& state, OpId id) const {
  return {state.samples.count, device_.wire(id).made.count};
}

/// Input of the operator, in the sharding it needs.
void StageRun::reshard_input(InFlight& state, OpId id, std::size_t slot, MemoryKind kind) {
  const OpId source = device_.wire(id).sources[slot];
  const TensorSharding from = sharding_of(source), &to = device_.shard(id).reads[slot];
  if (from == to) return;
  Lease& lease = state.resharded[{source, to}];
  if (lease != nullptr) return;
  if (kept_.contains({source, to})) kind = MemoryKind::activations;
  const auto collectives =
      own_.contains(source) ? layout::convert(device_.graph, source, from.placement, to.placement, id).forward
                            : std::vector<layout::GroupCollective>();
  lease = reshard(device_, state.tensors.at(source), from, to, extent(state, source), kind,
                  device_.name(source), device_.time(collectives, state.samples.count));
}

Lease StageRun::input(const InFlight& state, OpId id, std::size_t slot) const {
  const OpId source = device_.wire(id).sources[slot];
  const TensorSharding& sharding = device_.shard(id).reads[slot];
  return sharding == sharding_of(source) ? state.tensors.at(source) : state.resharded.at({source, sharding});
}

kernels::Kernel& StageRun::kernel(OpId id, std::int64_t all) {
  const OperatorShard& shard = device_.shard(id);
  const std::int64_t samples = device_.samples(id, all);
  const graph::Operator& op = shard.op;
  if (context_ && op.kind == OpKind::attention)
    return attentions_.try_emplace({id, samples}, device_, *context_, id, samples).first->second;
  if (shard.dispatches)
    return dispatches_.try_emplace({id, samples}, device_, stage_, id, samples).first->second;
  if (has_kernel(id)) return device_.kernels.of(op, samples);
  const kernels::OperatorWiring& view = device_.wire(id);
  return device_.kernels.of(kernels::joining(op, view.made.count, device_.wire(view.sources[0]).made.count),
                            samples);
}

/// True if an upper gradient or the weight gradient needs the pass, or if the cost model counts it
/// (cost::has_pass); with frozen parameters nothing else does (cost::kernel_time).
bool StageRun::runs_input_gradient(OpId id, std::int64_t samples) {
  kernels::Kernel& k = kernel(id, samples);
  if (!k.has(graph::Pass::input_gradient)) return false;
  const bool counted = device_.graph.frozen_parameters() == 0 &&
                       cost::has_pass(device_.graph.op(id), graph::Pass::input_gradient);
  return device_.wire(id).trains_above || (weighs(id) && !k.slots().handed.empty()) || counted;
}

kernels::Operands StageRun::operands(const InFlight& state, OpId id, int version) const {
  kernels::Operands out;
  for (std::size_t i = 0; i < device_.wire(id).sources.size(); ++i)
    out.inputs.push_back(input(state, id, i).get());
  for (const kernels::ParameterSlot& parameter : device_.shard(id).parameters)
    out.parameters.push_back(weights_.version(version)[weights_.place(parameter.owner)].get());
  const auto sum = state.sums.find(id);
  out.output = (sum != state.sums.end() ? sum->second : state.tensors.at(id)).get();
  if (const auto saved = state.saved.find(id); saved != state.saved.end())
    for (const Lease& lease : saved->second) out.saved.push_back(lease.get());
  if (const auto handed = state.handed.find(id); handed != state.handed.end())
    for (const Lease& lease : handed->second) out.handed.push_back(lease.get());
  return out;
}

void StageRun::run(kernels::Kernel& kernel, graph::Pass pass, const kernels::Operands& operands, OpId id) {
  const auto where = [&] { return fmt::format("operator '{}': {}: ", device_.name(id), name(pass)); };
  device_.setup.stop.check();
  device_.pool->touch(kernel.workspace(pass), MemoryKind::workspace, device_.name(id));
  try {
    kernel.run(pass, operands, *device_.stream);
  } catch (const core::Error& error) {
    throw core::Error(error.code(), where() + error.what());
  } catch (const std::exception& error) {
    throw core::Error(core::ExitCode::device_failed, where() + error.what());
  }
}

Lease StageRun::acquire(const Slot& slot, MemoryKind kind, OpId id) {
  return device_.pool->acquire(slot.element, slot.count(), kind, "operator '" + device_.name(id) + "'");
}

std::vector<Lease> StageRun::acquire(const std::vector<Slot>& slots, MemoryKind kind, OpId id) {
  std::vector<Lease> out;
  for (const Slot& slot : slots) out.push_back(acquire(slot, kind, id));
  return out;
}

}  // namespace penstock::replay
