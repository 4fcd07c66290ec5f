#pragma once
// The numbers that a replay trains on (TrainingSetup says what they depend on).

#include <vector>

#include "penstock/kernels/values.hpp"
#include "penstock/kernels/wiring.hpp"
#include "penstock/replay/program.hpp"
#include "penstock/replay/training.hpp"
#include "worker/sharding.hpp"

namespace penstock::replay {

/// A tensor whose numbers are drawn when they are asked for: models are larger in float64 than a host's
/// memory.
struct Drawn {
  std::int64_t count = 0;
  kernels::Piece piece;
  std::vector<double> values() const;
};

/// A parameter before the first update.
Drawn first_weights(const TrainingSetup& setup, kernels::ParameterRef parameter, const kernels::Slot& slot);
/// What the input `op` says of these samples: uniform in [-1, 1), or rows of the table it points into.
Drawn input_values(const TrainingSetup& setup, core::OpId op, const kernels::Wire& wire, Samples samples);
/// Targets of `op`, whose output no operator reads: uniform in [-1, 1).
Drawn target_values(const TrainingSetup& setup, core::OpId op, const kernels::Wire& wire, Samples samples);
Drawn negative(Drawn drawn);

/// The shard's numbers, of those of the whole tensor, into a buffer of as many.
void write(kernels::Backend& backend, kernels::Buffer& to, const Shard& shard, const Drawn& all);

}  // namespace penstock::replay
