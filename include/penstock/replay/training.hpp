#pragma once
// What is trained with: numbers that make a replay training, and the same one every time.

#include <cstdint>

#include "penstock/core/stop.hpp"
#include "penstock/kernels/precision.hpp"
#include "penstock/kernels/update_rule.hpp"

namespace penstock::replay {

/// Weights by (seed, operator), samples and targets by (seed, operator, number of the sample): they do not
/// depend on how the model is cut, nor on who computes which sample. Loss: half the squared distance of what
/// nobody reads to its target, summed over elements and samples; `rule.rate` is per sample of that sum.
struct TrainingSetup {
  std::uint64_t seed = 1;
  kernels::Precision precision = kernels::Precision::fp32;
  kernels::UpdateRule rule{};  ///< its kind is the plan's optimizer
  bool losses = false;         ///< workers keep what they lose; reading it takes time
  core::StopToken stop{};  ///< asked before every kernel, and before weights, samples and targets are drawn
};

}  // namespace penstock::replay
