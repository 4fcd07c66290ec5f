#pragma once
// Prediction of a measured run.

#include "penstock/core/stop.hpp"
#include "penstock/cost/problem.hpp"

namespace penstock::experiment {

struct RunPrediction {
  double seconds = 0;  ///< simulated, one iteration
  double gib = 0;      ///< fullest device, including its reserve
};

/// The plan must be structurally valid and have in-flight counts.
RunPrediction run_prediction(const cost::Problem& problem, const plan::Plan& plan, core::StopToken stop);

}  // namespace penstock::experiment
