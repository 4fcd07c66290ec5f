#pragma once
// Settings that make a replay a reproducible training run.

#include <cstdint>

#include "penstock/core/stop.hpp"
#include "penstock/kernels/precision.hpp"
#include "penstock/kernels/update_rule.hpp"

namespace penstock::replay {

/// Weights depend on (seed, operator), samples and targets on (seed, operator, number of the sample): not on
/// how the model is divided or which device computes a sample. Loss: half the squared distance between
/// outputs that no operator reads and their targets, summed over elements and samples; `rule.rate` is per
/// sample of that sum.
struct TrainingSetup {
  std::uint64_t seed = 1;
  kernels::Precision precision = kernels::Precision::fp32;
  kernels::UpdateRule rule{};  ///< its kind is the plan's optimizer
  bool losses = false;         ///< workers record losses; reading them takes time
  core::StopToken stop{};  ///< checked before every kernel, and before weights, samples and targets are drawn
};

}  // namespace penstock::replay
