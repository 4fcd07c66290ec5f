#pragma once
// How warm kernels find the caches when a whole model runs.

#include <span>
#include <vector>

#include "penstock/cost/calibration.hpp"

namespace penstock::cost {

/// In a model a kernel finds warm what the one before it has just written, and its weights cold: its time is
/// back_to_back + share * (cold - back_to_back).
core::Seconds at_share(core::Seconds cold, core::Seconds back_to_back, double share);

/// The share, 0 to 1, with which sums of kernels come nearest to whole runs: least squares of relative
/// errors. 1 where there is no evidence: no model was run, or cold and back-to-back sums are equal.
double cold_share(std::span<const ModelSum> models);

/// A run, and its sum with the share of the other models' runs.
struct HeldOutSum {
  double share = 1;
  core::Seconds sum;
  double error = 0;  ///< sum / whole - 1
};
/// In the order of `models`; all runs of one model are left out together.
std::vector<HeldOutSum> held_out_sums(std::span<const ModelSum> models);

}  // namespace penstock::cost
