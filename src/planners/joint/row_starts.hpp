#pragma once
// Starts of `joint` in addition to other planners' answers: rows with schedules for which no other planner
// cuts stages.

#include <vector>

#include "joint/walk.hpp"

namespace penstock::planners {

/// For each schedule in a V, in waves, or with split backward passes: the best of all even rows. Even rows
/// have equal numbers of devices per rank and stages of equal times, with groups and micro-batches of every
/// size. If a row does not fit, replicas shard optimizer state (ZeRO 1), then stages also recompute
/// attention's cores. Returns only those better than `to_beat`.
std::vector<JudgedDraft> row_starts(const PlanSpace& space, const JointJudge& judge, const PlanScore& to_beat,
                                    core::StopToken stop);

}  // namespace penstock::planners
