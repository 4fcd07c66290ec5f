#pragma once
// Profiles of a real run beside the simulation of its plan.

#include <optional>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/report/profiled_run.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::experiment {

/// Simulates the plan and matches the profiles with it (trace::match_profiles). Divides the difference of the iteration
/// times: simulates again with measured forward passes, then also with backward passes, then also with optimizer steps.
/// The rest is due to messages, waits and the host between passes. The plan must be valid (score::violations). Throws
/// like match_profiles and sim::simulate.
report::ProfiledPlan compare_profiles(const cost::Problem& problem, const plan::Plan& plan,
                                      const std::vector<trace::RankProfile>& profiles,
                                      std::optional<std::int64_t> step,
                                      const sim::SimulationOptions& options = {});

}  // namespace penstock::experiment
