#pragma once
// Cells whose plans run in about a millisecond.

#include <string>

#include "penstock/experiment/inputs.hpp"
#include "penstock/experiment/spec.hpp"
#include "support/checkout.hpp"

namespace penstock::support {

/// One attention layer in each of two branches, eight samples, on virtual devices of the host.
inline experiment::Cell tiny_cell(const std::string& planner, int devices) {
  experiment::Cell cell;
  cell.model = {"case_study", {{"layers", "1"}, {"hidden", "32"}, {"heads", "2"}, {"sequence", "8"}}};
  cell.cluster = {checkout("/experiments/clusters/host.yaml"), devices};
  cell.planner.name = planner;
  cell.training.mini_batch = 8;
  return cell;
}

}  // namespace penstock::support
