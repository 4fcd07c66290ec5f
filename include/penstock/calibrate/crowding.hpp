#pragma once
// Times kernels while neighbours of their node compute.

#include <string>
#include <vector>

#include "penstock/calibrate/links.hpp"

namespace penstock::calibrate {

/// What is timed, and beside what.
struct CrowdingCase {
  std::string kernel;  ///< one of crowding_kernels()
  std::string beside;  ///< "product" or "addition"
  int neighbours = 1;
};

/// From arithmetic to memory: "product", "convolution", "few_rows", "norm", "activation", "addition".
std::vector<std::string> crowding_kernels();

/// Of so many devices: product and addition beside one to all neighbours that run products or additions,
/// which is what a simulation goes by (cost/crowding.hpp); the other kernels, by which it is judged, beside
/// one and beside all.
std::vector<CrowdingCase> crowding_cases(int devices);

/// Of one case, each with two timings under the bench's rule.
inline constexpr int kCrowdingRounds = 9;

/// In rounds: alone on rank 0, then while ranks 1 to `neighbours` run theirs again and again, so that what
/// slows the machine for a while slows both. `copy`: the device's rate, for the share of memory in the time
/// alone. The operands of one rank take at most `memory`; throws BadInput where that is too little.
cost::CrowdingTest time_crowding(const LinkBench& bench, const CrowdingCase& asked,
                                 cluster::Precision precision, core::Bandwidth copy, core::Bytes memory);
bool has_test(const cost::Calibration& calibration, const CrowdingCase& asked);

}  // namespace penstock::calibrate
