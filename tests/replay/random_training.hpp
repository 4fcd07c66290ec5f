#pragma once
// Small models by seed, cut into two stages on tensor-parallel groups that divide their operators in any way.

#include "cut_model.hpp"

namespace penstock::replay::test {

/// Dense layers of all smooth functions, sums, norms, tables, attention over what they make. Groups of two or
/// three devices, one or two replicas, 1F1B or ZB-H1, recomputed or not. 24 samples, 12 at a time. `frozen`:
/// the same, but about half of the layers do not train.
CutModel random_training(std::uint64_t seed, bool frozen = false);

/// A model with layers like those of random_training(), over context groups of two or three devices, by any
/// exchange.
CutModel random_context_training(std::uint64_t seed);

}  // namespace penstock::replay::test
