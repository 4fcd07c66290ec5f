#include "penstock/graph/in_place.hpp"
#include "worker/stage_run.hpp"

namespace penstock::replay {

using core::OpId;
using graph::OpKind;
using plan::MemoryKind;

void StageRun::forward(std::int32_t micro_batch, SampleRange samples, Tensors entered, int version) {
  InFlight& state = in_flight_[micro_batch];
  state.samples = samples;
  state.tensors = std::move(entered);
  for (const OpId id : own_) {
    const bool again = segments_.of(id).has_value();
    run_forward(state, id, version,
                {segments_.lasts(id) ? MemoryKind::activations : MemoryKind::workspace,
                 again ? MemoryKind::workspace : MemoryKind::activations});
    if (again) forget_read(state, id);
  }
  if (device_.grouped()) make_whole(state);
}

void StageRun::recompute(std::int32_t micro_batch, int version) {
  if (const auto begins = segments_.of(*own_.rbegin())) rebuild(in_flight_.at(micro_batch), *begins, version);
}

/// An output that lies on its input's memory is made in the new memory, so the old one goes first.
void StageRun::rebuild(InFlight& state, std::size_t segment, int version) {
  for (const OpId id : segments_.members(segment))
    if (in_place_.contains(id)) state.tensors.erase(id);
  for (const OpId id : segments_.members(segment))
    run_forward(state, id, version, {MemoryKind::activations, MemoryKind::activations});
  state.rebuilt.insert(segment);
}

/// Called when all readers have had their backward pass.
void StageRun::drop_rebuilt(InFlight& state, std::size_t segment) {
  for (const OpId id : segments_.members(segment)) {
    state.saved.erase(id);
    state.sums.erase(id);
    if (!segments_.lasts(id)) state.tensors.erase(id);
  }
  std::erase_if(state.resharded, [&](const auto& entry) { return !kept_.contains(entry.first); });
}

/// Called at the end of the operator's backward pass, which no reader of its output comes after. A gathered
/// copy goes with its first reader.
void StageRun::drop_read(InFlight& state, OpId id) {
  state.saved.erase(id);
  state.sums.erase(id);
  state.tensors.erase(id);
  for (std::size_t i = 0; i < device_.wire(id).sources.size(); ++i)
    if (const std::pair copy{device_.wire(id).sources[i], device_.shard(id).reads[i]};
        first_reader_.at(copy) == id)
      state.resharded.erase(copy);
}

void StageRun::run_forward(InFlight& state, OpId id, int version, MemoryKinds kinds) {
  for (std::size_t i = 0; i < device_.wire(id).sources.size(); ++i) reshard_input(state, id, i, kinds.saved);
  if (device_.graph.op(id).kind == OpKind::input)
    state.tensors[id] = device_.pool->lend(data_.input(id, state.samples), kinds.output, device_.name(id));
  else if (has_kernel(id))
    compute(state, id, version, kinds);
  else
    show(state, id, kinds.output);
}

/// A tensor that lasts is overwritten in place with equal values.
void StageRun::compute(InFlight& state, OpId id, int version, MemoryKinds kinds) {
  const MemoryKind kind = kinds.output;
  kernels::Kernel& k = kernel(id, state.samples.count);
  const OperatorShard& shard = device_.shard(id);
  Lease& tensor = state.tensors[id];
  const auto over = in_place_.find(id);
  if (over != in_place_.end()) {
    tensor = input(state, id, over->second);
    if (segments_.count() > 0 && segments_.lasts(id)) device_.pool->move(tensor, kind);
  } else if (tensor == nullptr || shard.after) {
    tensor = acquire(k.slots().output, kind, id);
  }
  const Lease output = tensor;
  state.sums.erase(id);
  state.saved[id] =
      shard.dispatches ? std::vector{ExpertDispatch::room()} : acquire(k.slots().saved, kinds.saved, id);
  kernels::Operands all = operands(state, id, version);
  // oneDNN's sum may only overwrite its first term.
  if (over != in_place_.end()) std::swap(all.inputs.front(), all.inputs[over->second]);
  run(k, graph::Pass::forward, all, id);
  if (shard.sums_output)
    all_reduce(device_, {output},
               device_.time(layout::sums(device_.graph, id, shard.how).forward, state.samples.count));
  if (shard.after) apply_after(state, id, kind);
}

void StageRun::apply_after(InFlight& state, OpId id, MemoryKind kind) {
  const Lease sum = state.sums[id] = state.tensors.at(id);
  const bool over = graph::follows_from_output(as<graph::Activation>(*device_.shard(id).after).function);
  const Lease output = state.tensors[id] = over ? sum : device_.like(*sum, kind, device_.name(id));
  kernels::Kernel& k = device_.kernels.of(*device_.shard(id).after, state.samples.count);
  kernels::Operands operands;
  operands.inputs = {sum.get()};
  operands.output = output.get();
  run(k, graph::Pass::forward, operands, id);
}

/// A view of everything is another name. For a view of a part, a concat's input gradient splits its output
/// gradient.
void StageRun::show(InFlight& state, OpId id, MemoryKind kind) {
  const Lease whole = input(state, id, 0);
  if (!shows_part(id)) {
    state.tensors[id] = whole;
    return;
  }
  kernels::Kernel& k = kernel(id, state.samples.count);
  const Lease shard = acquire(k.slots().inputs[0], kind, id),
              rest = acquire(k.slots().inputs[1], MemoryKind::workspace, id);
  kernels::Operands parts;
  parts.inputs = parts.input_gradients = {shard.get(), rest.get()};
  parts.output = parts.output_gradient = whole.get();
  run(k, graph::Pass::input_gradient, parts, id);
  state.tensors[id] = shard;
}

/// Frees recomputed tensors as soon as the stage has read them for the last time.
void StageRun::forget_read(InFlight& state, OpId id) {
  state.saved.erase(id);
  state.sums.erase(id);
  for (const OpId source : device_.wire(id).sources) {
    if (last_reader_.at(source) != id) continue;
    std::erase_if(state.resharded, [&](const auto& entry) {
      return entry.first.first == source && !kept_.contains(entry.first);
    });
    if (own_.contains(source) && !outputs_.contains(source) && !segments_.lasts(source))
      state.tensors.erase(source);
  }
}

/// Makes outputs whole; if no operator here reads an output whole, only for a message.
void StageRun::make_whole(InFlight& state) {
  for (const OpId id : outputs_) {
    if (sharding_of(id).whole()) continue;
    Lease& lease = state.resharded[{id, TensorSharding()}];
    if (lease == nullptr)
      lease = reshard(device_, state.tensors.at(id), sharding_of(id), TensorSharding(), extent(state, id),
                      MemoryKind::buffers, device_.name(id), core::Seconds(0));
  }
}

}  // namespace penstock::replay
