#pragma once
// Plans that need little memory, for problems on which no other planner finds any.

#include <vector>

#include "joint/walk.hpp"

namespace penstock::planners {

/// Rows of ranks with equally many devices and work, of every number and in tensor-parallel groups of every
/// size, that share all they can (ZeRO 3, sequence parallelism), recompute whole stages or layer by layer,
/// and take the smallest micro-batches; those that are valid, fastest first.
std::vector<JudgedDraft> thrifty_plans(const PlanSpace& space, const JointJudge& judge, core::StopToken stop);

}  // namespace penstock::planners
