#pragma once
// What the stages of one device hold together.

#include <vector>

#include "penstock/cost/problem.hpp"

namespace penstock::score {

struct RankMemory {
  std::vector<std::size_t> stages;
  core::Bytes needed;  ///< by the fullest of its devices
};

/// By rank (plan::rank_of_stage), at the in-flight counts of its stages. Passes of a device follow each
/// other, so that the order of its row tells how much of what several stages keep is there at once, whatever
/// the passes take; stages at their fullest (stage_memories) are more than that, for one lets go of a
/// micro-batch before another begins it. Workspace they share. Colocated stages, and those without a flush,
/// add up.
std::vector<RankMemory> rank_memories(const cost::Problem& problem, const plan::Plan& judged);

}  // namespace penstock::score
