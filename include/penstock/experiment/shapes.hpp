#pragma once
// Which kernels an experiment's plans may run, for a calibration that is to measure them.

#include <cstdint>
#include <set>
#include <vector>

#include "penstock/experiment/spec.hpp"

namespace penstock::experiment {

/// What the plans for one model may ask of a device.
struct ModelShapes {
  plan::ModelRef model;
  std::set<std::int64_t> samples;  ///< of a micro-batch that fall to one device
  std::set<int> tensor_degrees;    ///< of groups that divide operators: powers of two above 1, within a node
};

/// load_spec, whose costs file is not looked at and need not be there yet.
Spec load_grid(const std::string& path);

/// Models in the order of the cells. Samples: of every micro-batch size that planners try, or the one
/// pinned for the pipeline, whole and divided among as many replicas as planners try (powers of two, or any
/// number where a cell says so). Degrees where a planner divides operators, as far as its own limit goes.
std::vector<ModelShapes> shapes(const Spec& spec);

}  // namespace penstock::experiment
