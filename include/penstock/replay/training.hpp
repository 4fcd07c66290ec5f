#pragma once
// Setting that makes a replay a training run, the same one every time.

#include <cstdint>

#include "penstock/core/stop.hpp"
#include "penstock/kernels/precision.hpp"
#include "penstock/kernels/update_rule.hpp"

namespace penstock::replay {

/// Weights by (seed, operator), samples and targets by (seed, operator, number of the sample): they depend
/// neither on how the model is divided nor on which device computes which sample. Loss: half the squared
/// distance of outputs that no operator reads to their targets, summed over elements and samples; `rule.rate`
/// is per sample of that sum.
struct TrainingSetup {
  std::uint64_t seed = 1;
  kernels::Precision precision = kernels::Precision::fp32;
  kernels::UpdateRule rule{};  ///< its kind is the plan's optimizer
  bool losses = false;         ///< workers keep what they lose; reading it takes time
  core::StopToken stop{};  ///< asked before every kernel, and before weights, samples and targets are drawn
};

}  // namespace penstock::replay
