#pragma once
// Skeleton of the 1F1B families: some forwards to warm up, then forward and backward in turn, then the
// remaining backwards.

#include <optional>
#include <vector>

#include "penstock/schedule/schedule.hpp"

namespace penstock::schedule {

/// One rank's passes in issue order; both lists name stage and micro-batch.
struct WarmUp {
  std::vector<Action> forwards;
  std::vector<Action> gradients;  ///< full backwards, or input gradients when `lag` is set
  int warm_up = 0;                ///< forwards before the first gradient's partner
  std::optional<int> lag;  ///< the weight gradient of pass k follows the input gradient of pass k + lag
};

RankOrder warm_up_order(const WarmUp& order);

}  // namespace penstock::schedule
