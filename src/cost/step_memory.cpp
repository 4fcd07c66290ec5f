#include "step_memory.hpp"

namespace penstock::cost {
namespace {

using core::Bytes;

/// Bytes of what the optimizer updates, for `weights` bytes of weights.
Bytes updated(const plan::Training& training, Bytes weights) {
  const auto& precision = training.precision;
  if (!precision || !precision->master) return weights;
  return weights / plan::bytes(precision->weights) * plan::bytes(*precision->master);
}

/// True if gradients are narrower than what the optimizer updates.
bool narrow_gradients(const plan::Training& training) {
  const auto& precision = training.precision;
  return precision && precision->master &&
         plan::bytes(precision->gradients) < plan::bytes(*precision->master);
}

}  // namespace

bool owns_matrices(const UpdatedWeights& updated, const plan::ReplicaPlacement& placement) {
  return updated.fullest.value() > 0 && placement.shards_state() && !placement.shards_weights();
}

StepWeights step_weights(const StageLoad& load, const plan::ReplicaPlacement& placement) {
  const UpdatedWeights& updated = load.updated;
  const Bytes own = load.parameters - updated.by_adam, experts = load.experts - updated.experts;
  return {owns_matrices(updated, placement) ? updated.fullest : placement.held(own, experts, placement.state),
          placement.held(updated.by_adam, updated.experts, placement.state)};
}

Bytes step_memory(const cluster::FrameworkMemory& framework, const plan::Training& training,
                  const StepWeights& weights) {
  const bool copies = framework.copies_gradients && narrow_gradients(training),
             lists = framework.makes_lists && training.optimizer == plan::Optimizer::adam,
             beside = framework.makes_lists && training.optimizer == plan::Optimizer::muon;
  return updated(training, weights.own) * ((copies ? 1 : 0) + (lists ? 1 : 0)) +
         updated(training, weights.by_adam) * ((copies ? 1 : 0) + (beside ? 1 : 0));
}

Bytes bucket_memory(Bytes bucket, const plan::ReplicaPlacement& placement) {
  if (!placement.shards_state()) return {};
  return bucket * (placement.shards_gradients() && !placement.shards_weights() ? 2 : 1);
}

}  // namespace penstock::cost
