#pragma once
// What a measured run should have come to.

#include "penstock/core/stop.hpp"
#include "penstock/cost/problem.hpp"

namespace penstock::experiment {

struct RunPrediction {
  double seconds = 0;  ///< of one iteration, simulated
  double gib = 0;      ///< of the fullest device, what is reserved on it included
};

/// The plan must be structurally valid, with its in-flight counts.
RunPrediction run_prediction(const cost::Problem& problem, const plan::Plan& plan, core::StopToken stop);

}  // namespace penstock::experiment
