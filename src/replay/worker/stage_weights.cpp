#include "worker/stage_weights.hpp"

#include "penstock/core/error.hpp"
#include "penstock/kernels/values.hpp"

namespace penstock::replay {

using kernels::Buffer;
using kernels::ParameterRef;
using kernels::Slot;
using plan::MemoryKind;

namespace {

/// Scales and shifts of norms are fp32 in every precision.
kernels::Precision precision_of(const Slot& slot, kernels::Precision precision) {
  return slot.element == kernels::storage(precision) ? precision : kernels::Precision::fp32;
}

std::vector<Buffer*> pointers(const std::vector<Lease>& leases) {
  std::vector<Buffer*> out;
  for (const Lease& lease : leases) out.push_back(lease.get());
  return out;
}

}  // namespace

StageWeights::StageWeights(DeviceContext& device, const std::vector<core::OpId>& operators, VersionUse use)
    : device_(device), use_(std::move(use)), left_(use_.passes) {
  versions_[0];
  for (const core::OpId id : operators)
    for (const kernels::ParameterSlot& parameter : device.shard(id).parameters)
      if (!places_.contains(parameter.owner)) add(parameter);
  gradients(0);
}

/// Adds a parameter; in a group, the shard that the device has.
void StageWeights::add(const kernels::ParameterSlot& used) {
  const ParameterRef parameter = used.owner;
  const bool part = device_.grouped() || device_.dispatches(parameter.op);
  const Slot& slot = part ? used.slot : device_.wire(parameter.op).parameters[parameter.slot].slot;
  places_[parameter] = slots_.size();
  owners_.push_back(parameter.op);
  slots_.push_back(slot);
  const std::string what = "operator '" + device_.name(parameter.op) + "': " + slot.name;
  Lease weights = device_.pool->acquire(slot.element, slot.count(), MemoryKind::weights, what);
  device_.write_first_weights(parameter, *weights);
  updates_.emplace_back();
  states_.emplace_back();
  if (device_.wire(parameter.op).weighs) add_update(*weights, what);
  versions_[0].push_back(std::move(weights));
}

/// Adds the update and its state for the parameter added last.
void StageWeights::add_update(const Buffer& weights, const std::string& what) {
  const Slot& slot = slots_.back();
  updates_.back() = device_.backend.make_update(device_.setup.rule, slot.count(),
                                                precision_of(slot, device_.setup.precision));
  for (const Slot& s : updates_.back()->state()) {
    Lease& state =
        states_.back().emplace_back(device_.zeros(s.element, s.count(), MemoryKind::optimizer, what));
    if (s.name != "master") continue;
    device_.stream->synchronise();  // the zeros must be written first
    kernels::write_values(device_.backend, *state, weights);
  }
}

const std::vector<Lease>& StageWeights::version(int updates) const {
  if (updates < 0 || slots_.empty()) return newest();
  const auto found = versions_.find(updates);
  core::require(found != versions_.end(), "weights that a pass uses are there");
  return found->second;
}

void StageWeights::used(int updates) {
  if (updates < 0) return;
  if (--left_[updates] <= 0 && updates != newest_) versions_.erase(updates);
}

std::vector<Lease>& StageWeights::sums_of(std::int64_t mini_batch) {
  last_ = mini_batch;
  const MemoryKind kind = gradients_.empty() ? MemoryKind::gradients : MemoryKind::versions;
  const auto [found, fresh] = gradients_.try_emplace(mini_batch);
  for (std::size_t i = 0; fresh && i < slots_.size(); ++i)
    found->second.push_back(
        trains(i) ? device_.zeros(slots_[i].element, slots_[i].count(), kind, "a weight gradient") : nullptr);
  return found->second;
}

/// Updates tensor by tensor. If the next mini-batch has begun, gradients are freed for the versions that they
/// make.
void StageWeights::step() {
  const bool in_place = left_[newest_] <= 0;
  std::vector<Lease>& sums = gradients_.empty() ? sums_of(last_) : gradients_.begin()->second;
  std::vector<Lease>& old = versions_.at(newest_);
  std::vector<Lease> weights;
  const bool begun = gradients_.size() > 1;
  ++steps_;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    weights.push_back(in_place || !trains(i) ? old[i] : successor(old[i]));
    if (!trains(i)) continue;
    updates_[i]->run(*weights[i], *old[i], *sums[i], pointers(states_[i]), steps_, *device_.stream);
    if (begun) sums[i] = nullptr;
  }
  retire_gradients();
  if (in_place) versions_.erase(newest_);
  versions_[++newest_] = weights;
  if (newest_ < use_.updates) return;
  versions_ = {{0, weights}};
  newest_ = 0;
  left_ = use_.passes;
}

/// Returns a buffer for the next version, because later passes need the old one unchanged.
Lease StageWeights::successor(const Lease& old) {
  device_.pool->move(old, MemoryKind::versions);
  return device_.like(*old, MemoryKind::weights, "a version of the weights");
}

/// Drops the gradients of the finished mini-batch; those of the next one replace them, or they start again at
/// zero.
void StageWeights::retire_gradients() {
  const auto done = gradients_.begin();
  if (gradients_.size() > 1) {
    gradients_.erase(done);
    for (const Lease& sum : gradients_.begin()->second)
      if (sum != nullptr) device_.pool->move(sum, MemoryKind::gradients);
    return;
  }
  auto spare = gradients_.extract(done);
  for (const Lease& sum : spare.mapped())
    if (sum != nullptr) device_.backend.zero(*sum, *device_.stream);
  last_ = spare.key() = spare.key() + 1 < use_.updates ? spare.key() + 1 : 0;
  gradients_.insert(std::move(spare));
}

}  // namespace penstock::replay
