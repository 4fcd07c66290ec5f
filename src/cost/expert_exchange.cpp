#include "penstock/cost/expert_exchange.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::cost {

using core::Seconds;

ExpertExchange::ExpertExchange(const cluster::Cluster& cluster, const plan::Stage& stage)
    : imbalance_(stage.imbalance), size_(stage.expert_parallel) {
  for (const auto& group : layout::expert_groups(stage)) groups_.push_back(all_to_all(cluster, group));
}

Seconds ExpertExchange::time(core::Bytes rows, Seconds launch) const {
  const core::Bytes all(static_cast<std::int64_t>(
      std::ceil(static_cast<double>(rows.value()) * static_cast<double>(size_) * imbalance_)));
  Seconds slowest = launch;
  for (const Affine& group : groups_) slowest = std::max(slowest, Seconds(group.at(all)));
  return slowest * 2;
}

}  // namespace penstock::cost
