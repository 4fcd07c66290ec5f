#pragma once
// Random numbers of a replay's training (TrainingSetup states what they depend on).

#include <vector>

#include "penstock/kernels/values.hpp"
#include "penstock/kernels/wiring.hpp"
#include "penstock/replay/program.hpp"
#include "penstock/replay/training.hpp"
#include "worker/sharding.hpp"

namespace penstock::replay {

/// A tensor whose numbers are drawn on demand, because models in float64 would exceed a host's memory.
struct DrawnTensor {
  std::int64_t count = 0;
  kernels::Piece piece;
  std::vector<double> values() const;
};

/// A parameter before the first update.
DrawnTensor first_weights(const TrainingSetup& setup, kernels::ParameterRef parameter,
                          const kernels::Slot& slot);
/// Values of the input `op` for these samples: uniform in [-1, 1), or rows of the table it indexes.
DrawnTensor input_values(const TrainingSetup& setup, core::OpId op, const kernels::OperatorWiring& wire,
                         SampleRange samples);
/// Targets of `op`, whose output no operator reads: uniform in [-1, 1).
DrawnTensor target_values(const TrainingSetup& setup, core::OpId op, const kernels::OperatorWiring& wire,
                          SampleRange samples);
DrawnTensor negative(DrawnTensor drawn);

/// Writes the shard's numbers, taken from the whole tensor, into a buffer of that size.
void write(kernels::Backend& backend, kernels::Buffer& to, const TensorShard& shard, const DrawnTensor& all);

}  // namespace penstock::replay
