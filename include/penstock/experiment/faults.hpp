#pragma once
// A plan's training under failures: goodput by policy.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/experiment/plan_input.hpp"
#include "penstock/jobs/job_life.hpp"
#include "penstock/sim/options.hpp"

namespace penstock::experiment {

/// Failures of a plan's devices as the user states them; nothing is assumed.
struct FaultSetting {
  jobs::FailureCosts costs;
  std::optional<core::Seconds> interval{};    ///< work between checkpoints; none: jobs::daly_interval
  std::optional<int> spares{};                ///< spare nodes
  std::optional<core::Seconds> repair{};      ///< from a failure until the node is a spare again
  std::vector<jobs::FaultPolicy> policies{};  ///< those to simulate
  std::uint64_t seed = 0;
  std::int64_t failures = 100'000;  ///< failures to simulate
};

/// Goodput under one policy.
struct FaultRow {
  jobs::FaultPolicy policy = jobs::FaultPolicy::restart;
  std::optional<jobs::JobOutcome> life{};  ///< none: `note` has the reason
  std::optional<double> closed_form{};     ///< goodput by formula; none for `shrink`
  std::string note{};
};

struct FaultReport {
  FaultSetting setting;
  core::Seconds interval;
  double samples_per_s = 0;  ///< without failures
  std::int64_t replicas = 1;
  std::int64_t lost = 1;  ///< replicas that a failed node takes out
  std::vector<FaultRow> rows{};
};

/// Simulates the job for every policy; one that lacks an input has it named in its note. With fewer replicas the plan runs on
/// fewer devices, and every replica takes as many samples as before: the mini-batch shrinks too. `samples_per_s` of the
/// complete plan. Precondition: `input` is complete.
FaultReport faults(const PlanInput& input, const FaultSetting& setting, double samples_per_s,
                   const sim::SimulationOptions& simulation, core::StopToken stop);

}  // namespace penstock::experiment
