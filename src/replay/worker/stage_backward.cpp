#include "penstock/kernels/values.hpp"
#include "worker/stage_run.hpp"

namespace penstock::replay {

using core::OpId;
using plan::MemoryKind;

void StageRun::backward(std::int32_t micro_batch, const Received& received, int version, bool split) {
  InFlight& state = in_flight_.at(micro_batch);
  for (const auto& [id, terms] : received)
    for (const Lease& term : terms) add_term(state, id, TensorSharding(), term);
  const bool by_layer = stage_.recompute.of == plan::Recomputation::SegmentScope::layers,
             by_core = !stage_.recompute.outlasts_input_gradient();
  for (auto id = own_.rbegin(); id != own_.rend(); ++id) {
    const auto segment = segments_.of(*id);
    if (segment && !state.rebuilt.contains(*segment)) rebuild(state, *segment, version);
    if (unread_.contains(*id)) start_loss(state, *id);
    if (device_.shard(*id).after) go_before_sum(state, *id);
    input_gradients(state, *id, version);
    if (weighs(*id) && split) defer(state, *id);
    if (weighs(*id) && split) continue;
    if (weighs(*id)) weight_gradient(state, *id, version);
    state.gradients.erase(*id);
    state.handed.erase(*id);
    if (by_layer) drop_read(state, *id);
    if (by_core && segment && *id == segments_.members(*segment).front()) drop_rebuilt(state, *segment);
  }
  for (const auto& [id, terms] : state.gradients)
    if (!own_.contains(id)) settled(state, id, TensorSharding());
}

/// Moves tensors that the weight gradient needs from workspace to buffers.
void StageRun::defer(InFlight& state, OpId id) {
  for (const auto& [sharding, gradient] : state.gradients[id])
    device_.pool->move(gradient, MemoryKind::buffers);
  for (const Lease& lease : state.handed[id]) device_.pool->move(lease, MemoryKind::buffers);
}

void StageRun::weight_gradients(std::int32_t micro_batch, int version) {
  InFlight& state = in_flight_.at(micro_batch);
  for (auto id = own_.rbegin(); id != own_.rend(); ++id) {
    if (!weighs(*id)) continue;
    weight_gradient(state, *id, version);
    state.gradients.erase(*id);
    state.handed.erase(*id);
  }
}

/// Adds half the squares of `gradient` to its mini-batch. Programs run several times, so samples repeat.
void StageRun::keep_loss(OpId id, const SampleRange& samples, const kernels::Buffer& gradient) {
  device_.stream->synchronise();
  const std::int64_t run = seen_[{id, samples.first}]++;
  const auto mini_batch = static_cast<std::size_t>(run * mini_batches_ + samples.first / mini_batch_);
  if (device_.losses.size() <= mini_batch) device_.losses.resize(mini_batch + 1);
  for (const double distance : kernels::read_values(device_.backend, gradient))
    device_.losses[mini_batch] += distance * distance / 2;
}

/// Gradient of half the squared distance to the target.
void StageRun::start_loss(InFlight& state, OpId id) {
  const Lease& target = data_.negative_target(id, state.samples);
  const Lease gradient = device_.like(*target, MemoryKind::workspace, device_.name(id));
  device_.backend.copy(*gradient, *target, *device_.stream);
  device_.backend.add(*gradient, *state.tensors.at(id), *device_.stream);
  state.gradients[id] = {{sharding_of(id), gradient}};
  if (device_.setup.losses && (!sharding_of(id).whole() || device_.division.member() == 0))
    keep_loss(id, state.samples, *gradient);
}

void StageRun::input_gradients(InFlight& state, OpId id, int version) {
  if (kernels::is_view(device_.graph.op(id)))
    show_gradient(state, id);
  else if (has_kernel(id) && runs_input_gradient(id, state.samples.count))
    compute_gradients(state, id, version);
}

/// Gradient of a view; that of a part is padded with zeros.
void StageRun::show_gradient(InFlight& state, OpId id) {
  if (!device_.wire(id).trains) return;
  const OpId source = device_.wire(id).sources[0];
  const Lease shown = own_gradient(state, id);
  const TensorSharding& sharding = device_.shard(id).reads[0];
  if (!shows_part(id)) return add_term(state, source, sharding, shown);
  kernels::Kernel& k = kernel(id, state.samples.count);
  const kernels::Slot& others = k.slots().inputs[1];
  const Lease rest = device_.zeros(others.element, others.count(), MemoryKind::workspace, device_.name(id)),
              whole = acquire(k.slots().output, MemoryKind::workspace, id);
  kernels::Operands joined;
  joined.inputs = {shown.get(), rest.get()};
  joined.output = whole.get();
  run(k, graph::Pass::forward, joined, id);
  add_term(state, source, sharding, whole);
}

void StageRun::compute_gradients(InFlight& state, OpId id, int version) {
  kernels::Kernel& k = kernel(id, state.samples.count);
  const Lease gradient = own_gradient(state, id);
  state.handed[id] = acquire(k.slots().handed, MemoryKind::workspace, id);
  std::vector<Lease> terms;
  for (const kernels::Slot& slot : k.slots().inputs) {
    if (graph::is_loss(device_.graph.op(id)))
      terms.push_back(gradient);  // written over
    else
      terms.push_back(slot.element == kernels::Element::int64 ? nullptr
                                                              : acquire(slot, MemoryKind::workspace, id));
  }
  kernels::Operands all = operands(state, id, version);
  all.output_gradient = gradient.get();
  for (const Lease& term : terms) all.input_gradients.push_back(term.get());
  run(k, graph::Pass::input_gradient, all, id);
  hand_up(state, id, terms);
}

void StageRun::hand_up(InFlight& state, OpId id, const std::vector<Lease>& terms) {
  const OperatorShard& shard = device_.shard(id);
  for (std::size_t i = terms.size(); i-- > 0;) {
    const OpId source = device_.wire(id).sources[i];
    if (terms[i] == nullptr || !device_.wire(source).trains) continue;
    add_to(shard.sums_inputs ? state.partial[source] : state.gradients[source][shard.reads[i]], terms[i]);
  }
  if (!shard.completes.empty()) add_up(state, id);
}

/// Sums partial sums with their last term over the group, in one collective.
void StageRun::add_up(InFlight& state, OpId id) {
  const OperatorShard& shard = device_.shard(id);
  std::vector<Lease> sums;
  for (const OpId source : shard.completes)
    if (state.partial.contains(source)) sums.push_back(state.partial.at(source));
  if (sums.empty()) return;
  const auto collectives = layout::sums(device_.graph, id, shard.how, shard.completes).backward;
  all_reduce(device_, sums, device_.time(collectives, state.samples.count));
  for (const OpId source : shard.completes)
    if (const auto sum = state.partial.extract(source))
      add_term(state, source, TensorSharding(), sum.mapped());
}

/// Kernels add to tables; other sums are added here.
void StageRun::weight_gradient(InFlight& state, OpId id, int version) {
  const auto& parameters = device_.shard(id).parameters;
  const std::vector<Lease>& sums = weights_.gradients(state.samples.first / mini_batch_);
  std::vector<Lease> terms;
  for (const kernels::ParameterSlot& p : parameters)
    terms.push_back(p.slot.added ? sums[weights_.place(p.owner)]
                                 : acquire(p.slot, MemoryKind::workspace, id));
  const Lease gradient = own_gradient(state, id);
  kernels::Operands all = operands(state, id, version);
  all.output_gradient = gradient.get();
  for (const Lease& term : terms) all.parameter_gradients.push_back(term.get());
  run(kernel(id, state.samples.count), graph::Pass::weight_gradient, all, id);
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (!parameters[i].slot.added)
      device_.backend.add(*sums[weights_.place(parameters[i].owner)], *terms[i], *device_.stream);
}

/// Computes the gradient of a sum from that of the operation applied to it.
void StageRun::go_before_sum(InFlight& state, OpId id) {
  const Lease after = own_gradient(state, id), sum = state.sums.at(id);
  const Lease before = device_.like(*sum, MemoryKind::workspace, device_.name(id));
  kernels::Operands operands;
  operands.inputs = {sum.get()};
  operands.input_gradients = {before.get()};
  operands.output = state.tensors.at(id).get();
  operands.output_gradient = after.get();
  run(device_.kernels.of(*device_.shard(id).after, state.samples.count), graph::Pass::input_gradient,
      operands, id);
  state.gradients[id] = {{TensorSharding(), before}};
}

void StageRun::add_term(InFlight& state, OpId source, const TensorSharding& sharding, const Lease& term) {
  if (device_.wire(source).trains) add_to(state.gradients[source][sharding], term);
}

/// The first term becomes the sum.
void StageRun::add_to(Lease& sum, const Lease& term) {
  if (sum == nullptr)
    sum = term;
  else
    device_.backend.add(*sum, *term, *device_.stream);
}

/// Returns the sum of all terms, in the given sharding; null if there are none.
Lease StageRun::settled(InFlight& state, OpId id, const TensorSharding& sharding) {
  auto& terms = state.gradients[id];
  Lease sum;
  for (const auto& [from, term] : terms) {
    const auto collectives =
        layout::convert(device_.graph, id, placement_of(id), from.placement, id).backward;
    const Lease shard =
        reshard(device_, term, from, sharding, extent(state, id), MemoryKind::workspace, device_.name(id),
                device_.time(from == sharding ? decltype(collectives)() : collectives, state.samples.count));
    add_to(sum, shard);
  }
  if (sum != nullptr) terms = {{sharding, sum}};
  return sum;
}

/// Returns zeros if nothing trains above but the cost model counts a pass.
Lease StageRun::own_gradient(InFlight& state, OpId id) {
  const TensorSharding sharding = sharding_of(id);
  if (Lease sum = settled(state, id, sharding)) return sum;
  const auto [samples, count] = extent(state, id);
  return state.gradients[id][sharding] = device_.zeros(
             device_.wire(id).made.element, sharding.shard(device_.division.member(), samples, count).count(),
             MemoryKind::workspace, device_.name(id));
}

void StageRun::sum_over_samples(core::Seconds time) {
  std::vector<Lease> sums;
  for (const OpId id : own_)
    for (const kernels::ParameterSlot& parameter : device_.shard(id).parameters)
      if (weighs(id) && device_.shard(id).how == plan::Partition::batch && parameter.owner.op == id)
        sums.push_back(weights_.last_gradients()[weights_.place(parameter.owner)]);
  if (!sums.empty()) all_reduce(device_, sums, time);
}

void StageRun::sum_over_holders(core::Seconds time) {
  std::vector<Lease> sums;
  for (const OpId id : own_)
    for (const kernels::ParameterSlot& parameter : device_.shard(id).parameters)
      if (device_.shard(id).dispatches && weighs(id))
        sums.push_back(weights_.last_gradients()[weights_.place(parameter.owner)]);
  if (!sums.empty() && device_.division.devices() > device_.division.expert_parts())
    all_reduce(device_, *device_.holders, sums, time);
}

}  // namespace penstock::replay
