#pragma once
// Kernels that an experiment's plans may run, for a calibration to measure.

#include <cstdint>
#include <set>
#include <vector>

#include "penstock/experiment/spec.hpp"

namespace penstock::experiment {

/// Shapes of the plans for one model.
struct ModelShapes {
  plan::ModelRef model;
  std::set<std::int64_t> samples;  ///< samples of a micro-batch on one device
  /// Sizes of groups that divide operators: powers of two above 1, within a node.
  std::set<int> tensor_degrees;
};

/// Like load_spec, but does not read the costs file, which need not exist yet.
Spec load_grid(const std::string& path);

/// Models in the order of the cells. Samples: of every micro-batch size that planners try (or the fixed one),
/// whole and divided. The divisors are the replica counts that planners try (powers of two, or any number
/// with any_degree). Degrees for planners that divide operators, up to their limits.
std::vector<ModelShapes> shapes(const Spec& spec);

}  // namespace penstock::experiment
