#pragma once
// The numbers that a replay trains on (TrainingSetup says what they depend on).

#include <vector>

#include "penstock/kernels/wiring.hpp"
#include "penstock/replay/program.hpp"
#include "penstock/replay/training.hpp"

namespace penstock::replay {

/// A parameter before the first update.
std::vector<double> first_weights(const TrainingSetup& setup, kernels::ParameterRef parameter,
                                  const kernels::Slot& slot);
/// What the input `op` says of these samples: uniform in [-1, 1), or rows of the table it points into.
std::vector<double> input_values(const TrainingSetup& setup, core::OpId op, const kernels::Wire& wire,
                                 Samples samples);
/// Targets of `op`, whose output no operator reads: uniform in [-1, 1).
std::vector<double> target_values(const TrainingSetup& setup, core::OpId op, const kernels::Wire& wire,
                                  Samples samples);

}  // namespace penstock::replay
