#pragma once
// One plan executed for real, and beside it what the simulator says.

#include <optional>
#include <string>

#include "penstock/cost/problem.hpp"
#include "penstock/replay/replay.hpp"
#include "penstock/report/replay_rows.hpp"
#include "penstock/sim/options.hpp"
#include "penstock/trace/comparison.hpp"

namespace penstock::experiment {

struct ReplaySetting {
  std::string device = "host";  ///< as kernels::device_for; each of the plan's devices is one of its own
  std::optional<replay::Manner> manner;  ///< default: parallel where each has a processor, or a GPU or a
                                         ///< partition of one, to itself
  replay::TrainingSetup training;        ///< its precision and its update rule's kind are the plan's
  bool experts_in_turn = false;          ///< graph::Experts::in_turn of every mixture
  replay::ReplayOptions options;
  bool graph =
      false;  ///< the iteration as one graph as well (replay::run_as_cuda_graph); on GPUs, without losses
};

struct Replayed {
  report::ReplayRow row;  ///< without plan, load, date and fingerprint, which the caller knows
  replay::ReplayResult measured;
  std::vector<core::Seconds> as_graph;  ///< every launch, as many as iterations, where it was asked for
  trace::Trace simulated;
  trace::Comparison comparison;
};

/// Simulates as well, with the problem's costs. The plan must be valid (score::violations). Throws BadInput
/// where a model without experts is to give rows to them in turn, and as
/// replay::lower, replay::make_worker and replay::run do. Of several processes (ReplayOptions::processes)
/// only number 0 gets anything.
Replayed replay_plan(const cost::Problem& problem, const plan::Plan& plan,
                     const sim::SimulationOptions& simulation, const ReplaySetting& setting);

}  // namespace penstock::experiment
