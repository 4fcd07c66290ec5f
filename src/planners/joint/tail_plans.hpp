#pragma once
// Plans of models that begin side by side and end in one piece: branches on devices of their own, and what
// stands behind them on the devices of all.

#include <optional>

#include "joint/walk.hpp"

namespace penstock::planners {

struct TailPlan {
  std::optional<JudgedDraft> plan;
  std::size_t judged = 0;
  bool complete = true;  ///< no limit ended the search
};

/// The best that is found, if it is better than `to_beat`. Branches are dealt to groups of devices of about
/// equal work for each device, so that no weights of one group are another's; what stands behind all of them
/// is colocated (plan/colocated.hpp), as tables and dense layers of recommendation models are trained
/// (Mudigere et al., ISCA 2022). From the best of all numbers of groups, micro-batches and
/// tensor-parallel degrees it goes on step by step: a device to the busiest group, a branch to another, one
/// setting at a time. On small problems it ends at most 5 % above the best of all dealings, at that in half
/// of them.
TailPlan tail_plan(const PlanSpace& space, const JointJudge& judge, const Worth& to_beat,
                   core::StopToken stop);

}  // namespace penstock::planners
