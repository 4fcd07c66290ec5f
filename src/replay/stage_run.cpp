#include "stage_run.hpp"

#include <fmt/format.h>

#include "penstock/core/error.hpp"
#include "penstock/cost/calibration.hpp"

namespace penstock::replay {

using core::OpId;
using graph::OpKind;
using graph::Vertex;
using kernels::Pass;
using kernels::Slot;
using plan::MemoryKind;

StageRun::StageRun(Device& device, const plan::Stage& stage, VersionUse use, std::int64_t mini_batch,
                   std::int64_t mini_batches)
    : device_(device),
      stage_(stage),
      own_(stage.operators.begin(), stage.operators.end()),
      weights_(device, stage.operators, std::move(use)),
      data_(device),
      mini_batch_(mini_batch),
      mini_batches_(mini_batches) {
  for (const OpId id : own_) {
    const auto readers = device.graph.dag().successors(static_cast<Vertex>(id.index()));
    if (readers.empty() && device.wire(id).trains) unread_.insert(id);
    for (const Vertex v : readers)
      if (!own_.contains(OpId(static_cast<std::size_t>(v)))) leaving_.insert(id);
    for (const OpId source : device.wire(id).sources) last_reader_[source] = id;
    if (kernels::works_in_place(device.graph, device.wires, id) &&
        (own_.contains(device.wire(id).sources[0]) || !stage.recompute))
      in_place_.insert(id);
  }
}

void StageRun::prepare(Samples samples) {
  for (const OpId id : own_) {
    if (device_.graph.op(id).kind == OpKind::input) data_.input(id, samples);
    if (has_kernel(id) || shows_part(id)) kernel(id, samples.count);
    if (unread_.contains(id)) data_.negative_target(id, samples);
  }
}

Lease StageRun::tensor(std::int32_t micro_batch, OpId op) const {
  return in_flight_.at(micro_batch).tensors.at(op);
}

Lease StageRun::gradient(std::int32_t micro_batch, OpId op) const {
  const auto& gradients = in_flight_.at(micro_batch).gradients;
  const auto found = gradients.find(op);
  return found == gradients.end() ? nullptr : found->second;
}

void StageRun::let_go(std::int32_t micro_batch, schedule::Pass pass) {
  InFlight& state = in_flight_.at(micro_batch);
  if (pass == schedule::Pass::forward && stage_.recompute)
    std::erase_if(state.tensors, [&](const auto& tensor) { return own_.contains(tensor.first); });
  if (pass == schedule::Pass::input_gradient)
    std::erase_if(state.gradients, [&](const auto& gradient) { return !own_.contains(gradient.first); });
  if (pass == schedule::Pass::backward || pass == schedule::Pass::weight_gradient)
    in_flight_.erase(micro_batch);
}

bool StageRun::shows_part(OpId id) const {
  if (!kernels::is_view(device_.graph.op(id))) return false;
  const kernels::Wire& view = device_.wire(id);
  return view.made.count < device_.wire(view.sources[0]).made.count;
}

kernels::Kernel& StageRun::kernel(OpId id, std::int64_t samples) {
  const graph::Operator& op = device_.graph.op(id);
  if (has_kernel(id)) return device_.kernels.of(op, samples);
  const kernels::Wire& view = device_.wire(id);
  return device_.kernels.of(kernels::joining(op, view.made.count, device_.wire(view.sources[0]).made.count),
                            samples);
}

/// What the cost model counts (cost::has_pass), and what a gradient further up cannot do without.
bool StageRun::runs_input_gradient(OpId id, std::int64_t samples) {
  kernels::Kernel& k = kernel(id, samples);
  return k.has(Pass::input_gradient) && (device_.wire(id).trains_above || !k.slots().handed.empty() ||
                                         cost::has_pass(device_.graph.op(id), cost::Pass::input_gradient));
}

kernels::Operands StageRun::operands(const InFlight& state, OpId id, int version) const {
  kernels::Operands out;
  const kernels::Wire& wire = device_.wire(id);
  for (const OpId source : wire.sources) out.inputs.push_back(state.tensors.at(source).get());
  for (const kernels::Parameter& parameter : wire.parameters)
    out.parameters.push_back(weights_.version(version)[weights_.place(parameter.owner)].get());
  out.output = state.tensors.at(id).get();
  if (const auto kept = state.kept.find(id); kept != state.kept.end())
    for (const Lease& lease : kept->second) out.kept.push_back(lease.get());
  if (const auto handed = state.handed.find(id); handed != state.handed.end())
    for (const Lease& lease : handed->second) out.handed.push_back(lease.get());
  return out;
}

void StageRun::run(kernels::Kernel& kernel, Pass pass, const kernels::Operands& operands, OpId id) {
  const auto where = [&] { return fmt::format("operator '{}': {}: ", device_.name(id), name(pass)); };
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
