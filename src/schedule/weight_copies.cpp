#include <algorithm>
#include <map>

#include "penstock/core/error.hpp"
#include "penstock/schedule/catalogue.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/schedule/weights_used.hpp"

namespace penstock::schedule {
namespace {

/// Follows the row of one stage.
class VersionHolder {
 public:
  VersionHolder(const RankOrder& row, const std::vector<std::int32_t>& used, std::int64_t per_update)
      : row_(row), used_(used), per_update_(per_update) {
    for (const std::int32_t version : used)
      if (version >= 0) ++left_[version];
  }

  /// Maximum number of versions and sets of gradients at once.
  int most() {
    for (std::size_t p = 0; p < row_.size(); ++p) {
      if (row_[p].kind == ActionKind::step) {
        ++made_;
        note();
        continue;
      }
      for (const Action& part : parts(row_[p]))
        summed_ += part.kind == ActionKind::backward || part.kind == ActionKind::weight_gradient;
      note();
      if (used_[p] >= 0 && --left_[used_[p]] == 0) left_.erase(used_[p]);
    }
    return most_;
  }

 private:
  void note() {
    const auto versions = static_cast<std::int64_t>(left_.size()) -
                          std::distance(left_.upper_bound(made_), left_.end()) + !left_.contains(made_);
    const std::int64_t begun = (summed_ + per_update_ - 1) / per_update_;
    most_ = std::max(most_, static_cast<int>(versions + std::max<std::int64_t>(1, begun - made_)));
  }

  const RankOrder& row_;
  const std::vector<std::int32_t>& used_;
  const std::int64_t per_update_;
  std::map<std::int32_t, int> left_;  ///< [version] later passes that use it
  std::int32_t made_ = 0;
  std::int64_t summed_ = 0;  ///< micro-batches whose gradients are summed
  int most_ = 2;
};

}  // namespace

const WeightPolicy& weight_policy(const plan::Plan& plan) {
  return weight_policy(plan::asynchronous(plan) ? family_named(plan.schedule).weights : "flush");
}

std::vector<int> weight_copies(const plan::Plan& plan) {
  std::vector<int> out(plan.stages.size());
  if (!plan::asynchronous(plan)) return out;
  const WeightPolicy& policy = weight_policy(plan);
  const auto alike = [&](const plan::Stage& stage) {
    return stage.replicas() == plan.stages.front().replicas();
  };
  if (policy.forward == ForwardWeights::as_entered && !std::ranges::all_of(plan.stages, alike))
    throw core::BadInput(plan.schedule + " needs the same number of replicas in all stages");
  const Schedule order = plan_order(plan);
  const WeightsUsed used = weights_used(plan, order.ranks, order.rank_of_stage);
  for (std::size_t s = 0; s < out.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    const std::int64_t per_update = plan.training.mini_batch / stage.micro_batch / stage.replicas();
    out[s] = VersionHolder(order.ranks[s], used[s].front(), per_update).most() - 2 + policy.more_buffers;
  }
  return out;
}

}  // namespace penstock::schedule
