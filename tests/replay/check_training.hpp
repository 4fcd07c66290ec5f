#pragma once
// A replay is training: compared with one device that has all samples.

#include "cut_model.hpp"
#include "penstock/kernels/update_rule.hpp"

namespace penstock::replay::test {

struct TrainingAccuracy {
  std::int64_t at_once;  ///< samples that the one device takes at a time
  double most = 1e-5;    ///< distance
  int iterations = 2;
  float epsilon = kernels::UpdateRule{}.epsilon;  ///< of adam, which blows up gradients that are rounding
  /// Or so many times what the last bit of the weights does to the gradients, where that is more. A unit of a
  /// deep network that is almost zero may be switched on or off by it.
  double last_bits = 0;
};

/// Iterations of the same mini-batch, replayed and on one device. Both start each from the same bits, since a
/// deep network may magnify the last one a thousandfold.
void check_training(const CutModel& cut, const TrainingAccuracy& accuracy);

}  // namespace penstock::replay::test
