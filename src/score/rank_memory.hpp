#pragma once
// Memory of the stages of one device together.

#include <vector>

#include "penstock/cost/problem.hpp"

namespace penstock::score {

struct RankMemory {
  std::vector<std::size_t> stages;
  core::Bytes needed;  ///< bytes on the fullest device of the rank
};

/// [rank, as in plan::rank_of_stage] memory at the in-flight counts of its stages. Passes of a device run one
/// after the other, so the order of its row determines how much several stages hold at once, whatever the
/// times. The sum of stage maxima (stage_memories) is larger, because one stage releases a micro-batch before
/// another begins it. Stages share their workspace. Colocated stages, and stages without a flush, add up.
std::vector<RankMemory> rank_memories(const cost::Problem& problem, const plan::Plan& judged);

}  // namespace penstock::score
