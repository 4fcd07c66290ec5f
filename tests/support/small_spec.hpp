#pragma once
// An experiment of four cells that take milliseconds.

#include "penstock/experiment/spec.hpp"
#include "support/checkout.hpp"

namespace penstock::support {

/// Two small models, spp and graphpipe, on four devices.
inline experiment::Spec small_spec() {
  experiment::Spec spec;
  spec.name = "small";
  spec.baseline = "spp";
  for (const char* model : {"case_study", "candle_uno"})
    for (const char* planner : {"spp", "graphpipe"}) {
      experiment::Cell cell;
      cell.model.name = model;
      cell.cluster = {checkout("/experiments/clusters/summit.yaml"), 4};
      cell.planner.name = planner;
      cell.training.mini_batch = 32;
      spec.cells.push_back(cell);
    }
  return spec;
}

}  // namespace penstock::support
