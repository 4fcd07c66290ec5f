#include "penstock/cost/expert_exchange.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::cost {

using core::Seconds;

ExpertExchange::ExpertExchange(const cluster::Cluster& cluster, const plan::Stage& stage)
    : imbalance_(stage.imbalance), size_(stage.expert_parallel) {
  const auto groups = layout::expert_groups(stage);
  measured_ = measured(cluster, groups, cluster::CollectiveKind::all_to_all);
  groups_ = all_to_all(cluster, groups);
}

Seconds ExpertExchange::time(core::Bytes rows, Seconds launch) const {
  const core::Bytes fullest(
      static_cast<std::int64_t>(std::ceil(static_cast<double>(rows.value()) * imbalance_)));
  const auto found = measured_.find(fullest);
  return std::max(launch, found ? found->time : Seconds(groups_.at(fullest * size_))) * 2;
}

}  // namespace penstock::cost
