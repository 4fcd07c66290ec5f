#pragma once
// Plans of models that begin side by side and end in one piece: branches on separate devices, and the rest on
// all devices.

#include <optional>

#include "joint/walk.hpp"

namespace penstock::planners {

struct TailPlan {
  std::optional<JudgedDraft> plan;
  std::size_t judged = 0;
  bool complete = true;  ///< no limit ended the search
};

/// Returns the best plan found, if it is better than `to_beat`. Branches are assigned to device groups with
/// about equal work per device, so that groups share no weights. The part behind all branches is colocated
/// (plan/colocated.hpp), as tables and dense layers of recommendation models are trained (Mudigere et al.,
/// ISCA 2022). Starts from the best of all numbers of groups, micro-batches and tensor-parallel degrees. Then
/// it moves step by step: a device to the busiest group, a branch to another group, or one setting. On small
/// problems the result is at most 5 % above the best of all assignments, and equal to it in half of them.
TailPlan tail_plan(const PlanSpace& space, const JointJudge& judge, const PlanScore& to_beat,
                   core::StopToken stop);

}  // namespace penstock::planners
