#pragma once
// Times kernels while neighbours of their node compute.

#include <string>
#include <vector>

#include "penstock/calibrate/links.hpp"

namespace penstock::calibrate {

/// One measurement: a kernel, and the work of its neighbours meanwhile.
struct CrowdingCase {
  std::string kernel;  ///< one of crowding_kernels()
  std::string beside;  ///< "product" or "addition"
  int neighbours = 1;
};

/// Names of the kernels, from arithmetic to memory: "product", "convolution", "few_rows", "norm",
/// "activation", "addition".
std::vector<std::string> crowding_kernels();

/// Cases for a node of `devices` devices. Simulations use product and addition beside 1, 2, ... all
/// neighbours that run products or additions (cost/crowding.hpp). The other kernels check that model, beside
/// one neighbour and beside all.
std::vector<CrowdingCase> crowding_cases(int devices);

/// Rounds of one case, each with two timings under the bench's rule.
inline constexpr int kCrowdingRounds = 9;

/// Times the kernel in rounds: first by itself on rank 0, then while ranks 1 to `neighbours` repeat theirs. A
/// temporary slowdown of the machine thus affects both times. `copy`: the device's rate, for the share of
/// memory in the time without neighbours. The operands of one rank take at most `memory`; throws BadInput if
/// that is too little.
cost::CrowdingTest time_crowding(const LinkBench& bench, const CrowdingCase& asked,
                                 cluster::Precision precision, core::Bandwidth copy, core::Bytes memory);
bool has_test(const cost::Calibration& calibration, const CrowdingCase& asked);

}  // namespace penstock::calibrate
