#include "penstock/schedule/weights_used.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "penstock/core/error.hpp"
#include "penstock/schedule/plan_order.hpp"

namespace penstock::schedule {
namespace {

/// [micro-batch, numbered among all] updates that it met in the first stage.
std::map<std::int64_t, std::int32_t> entries(const RankOrder& row, std::int64_t replicas) {
  std::map<std::int64_t, std::int32_t> out;
  std::int32_t made = 0;
  for (const Action& action : row) {
    if (action.stage != 0) continue;
    made += action.kind == ActionKind::step;
    if (action.kind != ActionKind::forward) continue;
    for (std::int64_t r = 0; r < replicas; ++r) out[action.micro_batch * replicas + r] = made;
  }
  return out;
}

class StageFollower {
 public:
  StageFollower(const plan::Plan& plan, const RankOrder& first_stage)
      : plan_(plan), policy_(weight_policy(plan)) {
    if (policy_.forward == ForwardWeights::as_entered)
      entered_ = entries(first_stage, plan.stages.front().replicas());
  }

  std::vector<std::int32_t> follow(std::size_t rank, const RankOrder& row, std::size_t replica) const {
    std::map<std::int32_t, VersionCounts> stages;
    std::vector<std::int32_t> used(row.size(), -1);
    for (std::size_t p = 0; p < row.size(); ++p) {
      VersionCounts& stage = stages[row[p].stage];
      stage.made += row[p].kind == ActionKind::step;
      if (row[p].micro_batch < 0) continue;
      used[p] = use(row[p], replica, stage);
      if (used[p] > stage.made)
        throw core::BadInput(fmt::format(
            "rank {} {}: wants weights after {} updates, but there have been {}; more micro-batches per "
            "update are needed",
            rank, token(row[p]), used[p], stage.made));
    }
    return used;
  }

 private:
  struct VersionCounts {
    std::int32_t made = 0, begun = 0;
    std::map<std::int32_t, std::int32_t> forward;  ///< [micro-batch] what its forward used
  };

  std::int32_t use(const Action& action, std::size_t replica, VersionCounts& stage) const {
    if (action.kind == ActionKind::forward)
      return stage.forward[action.micro_batch] = forward(action, replica, stage);
    return policy_.stash ? stage.forward[action.micro_batch] : stage.made;
  }

  std::int32_t forward(const Action& action, std::size_t replica, VersionCounts& stage) const {
    const plan::Stage& planned = plan_.stages[static_cast<std::size_t>(action.stage)];
    const std::int64_t replicas = planned.replicas();
    const std::int64_t per_update = plan_.training.mini_batch / planned.micro_batch / replicas;
    const std::int32_t begun = stage.begun++;
    if (policy_.forward == ForwardWeights::as_entered)
      return entered_.at(action.micro_batch * replicas + static_cast<std::int64_t>(replica));
    if (policy_.forward == ForwardWeights::one_behind)
      return static_cast<std::int32_t>(std::max<std::int64_t>(begun / per_update - 1, 0));
    return stage.made;
  }

  const plan::Plan& plan_;
  const WeightPolicy& policy_;
  std::map<std::int64_t, std::int32_t> entered_;
};

}  // namespace

WeightsUsed weights_used(const plan::Plan& plan, const std::vector<RankOrder>& rows,
                         const std::vector<std::int32_t>& rank_of_stage) {
  const StageFollower follower(plan, rows[static_cast<std::size_t>(rank_of_stage.front())]);
  std::vector<std::size_t> replicas(rows.size(), 1);
  for (std::size_t s = 0; s < rank_of_stage.size(); ++s) {
    std::size_t& most = replicas[static_cast<std::size_t>(rank_of_stage[s])];
    most = std::max(most, static_cast<std::size_t>(plan.stages[s].replicas()));
  }
  WeightsUsed out(rows.size());
  for (std::size_t rank = 0; rank < rows.size(); ++rank)
    for (std::size_t r = 0; r < replicas[rank]; ++r)
      out[rank].push_back(follower.follow(rank, rows[rank], r));
  return out;
}

}  // namespace penstock::schedule
