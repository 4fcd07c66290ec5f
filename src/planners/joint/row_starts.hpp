#pragma once
// Where `joint` begins besides the answers of others: rows of schedules that no other planner cuts stages
// for.

#include <vector>

#include "joint/walk.hpp"

namespace penstock::planners {

/// Of each schedule in a V, in waves, or with split backward passes, the best of all even rows: equally many
/// devices per rank, stages that take equally long, groups and micro-batches of every size; where a row does
/// not fit, replicas share optimizer state (ZeRO 1), then stages compute attention's cores again besides.
/// Only those that are better than `to_beat`.
std::vector<JudgedDraft> row_starts(const PlanSpace& space, const JointJudge& judge, const Worth& to_beat,
                                    core::StopToken stop);

}  // namespace penstock::planners
