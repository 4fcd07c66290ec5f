#pragma once
// Plans that need little memory, for problems on which no other planner finds a plan.

#include <vector>

#include "joint/walk.hpp"

namespace penstock::planners {

/// Rows of ranks with equal devices and work, of every number and with tensor-parallel groups of every size.
/// They shard everything that the limits allow (ZeRO 3, sequence parallelism) and use the smallest micro-batches.
/// They recompute whole stages, layer by layer, or nothing, as the limits allow. Returns the valid ones, fastest first.
std::vector<JudgedDraft> thrifty_plans(const PlanSpace& space, const JointJudge& judge, core::StopToken stop);

}  // namespace penstock::planners
