#pragma once
// Executes one plan, and compares it with its simulation.

#include <optional>
#include <string>

#include "penstock/cost/problem.hpp"
#include "penstock/replay/replay.hpp"
#include "penstock/report/replay_rows.hpp"
#include "penstock/sim/options.hpp"
#include "penstock/trace/comparison.hpp"

namespace penstock::experiment {

struct ReplaySetting {
  std::string device = "host";  ///< name for kernels::device_for; every device of the plan gets its own
  /// Default: parallel if each device has its own processor, GPU or partition of a GPU.
  std::optional<replay::ReplayManner> manner;
  replay::TrainingSetup training;  ///< its precision and update rule are those of the plan
  bool experts_in_turn = false;    ///< graph::Experts::in_turn for every mixture
  replay::ReplayOptions options;
  bool graph =
      false;  ///< Run the iteration as one graph, too (replay::run_as_cuda_graph); on GPUs, without losses.
};

struct ReplayOutcome {
  report::ReplayRow row;  ///< without plan, load, date and fingerprint, which the caller sets
  replay::ReplayResult measured;
  std::vector<core::Seconds> as_graph;  ///< [iteration] time of every launch, if requested
  trace::Trace simulated;
  trace::TraceComparison comparison;
};

/// Replays the plan, and simulates it with the problem's costs. The plan must be valid (score::violations).
/// Throws BadInput if `experts_in_turn` is set for a model without experts, and like replay::lower,
/// replay::make_worker and replay::run. Of several processes (ReplayOptions::processes) only number 0 gets a
/// result.
ReplayOutcome replay_plan(const cost::Problem& problem, const plan::Plan& plan,
                          const sim::SimulationOptions& simulation, const ReplaySetting& setting);

}  // namespace penstock::experiment
