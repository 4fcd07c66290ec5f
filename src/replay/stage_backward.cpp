#include "penstock/kernels/values.hpp"
#include "stage_run.hpp"

namespace penstock::replay {

using core::OpId;
using kernels::Pass;
using plan::MemoryKind;

void StageRun::backward(std::int32_t micro_batch, const Received& received, int version, bool split) {
  InFlight& state = in_flight_.at(micro_batch);
  for (const auto& [id, terms] : received)
    for (const Lease& term : terms) add_term(state, id, term);
  for (auto id = own_.rbegin(); id != own_.rend(); ++id) {
    if (unread_.contains(*id)) start_loss(state, *id);
    input_gradients(state, *id, version);
    if (weighs(*id) && split) continue;
    if (weighs(*id)) weight_gradient(state, *id, version);
    state.gradients.erase(*id);
    state.handed.erase(*id);
  }
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

/// Adds half the squares of `gradient` to its mini-batch. Programs are run again: samples come back.
void StageRun::keep_loss(OpId id, const Samples& samples, const kernels::Buffer& gradient) {
  device_.stream->synchronise();
  const std::int64_t run = seen_[{id, samples.first}]++;
  const auto mini_batch = static_cast<std::size_t>(run * mini_batches_ + samples.first / mini_batch_);
  if (device_.losses.size() <= mini_batch) device_.losses.resize(mini_batch + 1);
  for (const double distance : kernels::read_values(device_.backend, gradient))
    device_.losses[mini_batch] += distance * distance / 2;
}

/// The gradient of half the squared distance to the target.
void StageRun::start_loss(InFlight& state, OpId id) {
  const Lease& target = data_.negative_target(id, state.samples);
  const Lease gradient = device_.like(*target, MemoryKind::workspace, device_.name(id));
  device_.backend.copy(*gradient, *target, *device_.stream);
  device_.backend.add(*gradient, *state.tensors.at(id), *device_.stream);
  state.gradients[id] = gradient;
  if (device_.setup.losses) keep_loss(id, state.samples, *gradient);
}

void StageRun::input_gradients(InFlight& state, OpId id, int version) {
  if (kernels::is_view(device_.graph.op(id)))
    show_gradient(state, id);
  else if (has_kernel(id) && runs_input_gradient(id, state.samples.count))
    compute_gradients(state, id, version);
}

/// Of a part: it stands among zeros.
void StageRun::show_gradient(InFlight& state, OpId id) {
  if (!device_.wire(id).trains) return;
  const OpId source = device_.wire(id).sources[0];
  const Lease shown = own_gradient(state, id);
  if (!shows_part(id)) return add_term(state, source, shown);
  kernels::Kernel& k = kernel(id, state.samples.count);
  const kernels::Slot& others = k.slots().inputs[1];
  const Lease rest = device_.zeros(others.element, others.count(), MemoryKind::workspace, device_.name(id)),
              whole = acquire(k.slots().output, MemoryKind::workspace, id);
  kernels::Operands joined;
  joined.inputs = {shown.get(), rest.get()};
  joined.output = whole.get();
  run(k, Pass::forward, joined, id);
  add_term(state, source, whole);
}

void StageRun::compute_gradients(InFlight& state, OpId id, int version) {
  kernels::Kernel& k = kernel(id, state.samples.count);
  const Lease gradient = own_gradient(state, id);
  state.handed[id] = acquire(k.slots().handed, MemoryKind::workspace, id);
  std::vector<Lease> terms;
  for (const kernels::Slot& slot : k.slots().inputs)
    terms.push_back(slot.element == kernels::Element::int64 ? nullptr
                                                            : acquire(slot, MemoryKind::workspace, id));
  kernels::Operands all = operands(state, id, version);
  all.output_gradient = gradient.get();
  for (const Lease& term : terms) all.input_gradients.push_back(term.get());
  run(k, Pass::input_gradient, all, id);
  for (std::size_t i = terms.size(); i-- > 0;)
    if (terms[i] != nullptr) add_term(state, device_.wire(id).sources[i], terms[i]);
}

/// Tables are added to by their kernel, other sums by ours.
void StageRun::weight_gradient(InFlight& state, OpId id, int version) {
  const auto& parameters = device_.wire(id).parameters;
  const std::vector<Lease>& sums = weights_.gradients(state.samples.first / mini_batch_);
  std::vector<Lease> terms;
  for (const kernels::Parameter& p : parameters)
    terms.push_back(p.slot.added ? sums[weights_.place(p.owner)]
                                 : acquire(p.slot, MemoryKind::workspace, id));
  const Lease gradient = own_gradient(state, id);
  kernels::Operands all = operands(state, id, version);
  all.output_gradient = gradient.get();
  for (const Lease& term : terms) all.parameter_gradients.push_back(term.get());
  run(kernel(id, state.samples.count), Pass::weight_gradient, all, id);
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (!parameters[i].slot.added)
      device_.backend.add(*sums[weights_.place(parameters[i].owner)], *terms[i], *device_.stream);
}

/// The first term becomes the sum.
void StageRun::add_term(InFlight& state, OpId source, const Lease& term) {
  if (!device_.wire(source).trains) return;
  Lease& sum = state.gradients[source];
  if (sum == nullptr)
    sum = term;
  else
    device_.backend.add(*sum, *term, *device_.stream);
}

/// Zeros where nothing trains above, yet the cost model counts a pass.
Lease StageRun::own_gradient(InFlight& state, OpId id) {
  Lease& gradient = state.gradients[id];
  const kernels::Made& made = device_.wire(id).made;
  if (gradient == nullptr)
    gradient = device_.zeros(made.element, made.count * state.samples.count, MemoryKind::workspace,
                             device_.name(id));
  return gradient;
}

}  // namespace penstock::replay
