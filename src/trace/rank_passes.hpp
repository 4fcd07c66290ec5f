#pragma once
// The passes of one rank, taken from its profile. Private to the room.

#include <vector>

#include "penstock/trace/rank_profile.hpp"

namespace penstock::trace {

/// A pass of the plan, and when the profile ran it.
struct TimedPass {
  TaskKind kind = TaskKind::forward;
  core::StageId stage;
  std::int32_t micro_batch = -1;
  HostInterval time;
};

struct RankPasses {
  bool on_gpu = false;
  std::vector<TimedPass> passes;    ///< in the order of their announcements
  std::vector<HostInterval> steps;  ///< of optimizers
};

/// Passes and optimizer steps announced in `window`. `planned`: spans of the rank's passes in the plan's order.
/// Throws BadInput that names the file if both differ.
RankPasses rank_passes(const RankProfile& profile, const HostInterval& window,
                       const std::vector<Span>& planned);

/// Returns a text such as "forward of micro-batch 3 on stage 1".
std::string pass_words(TaskKind kind, core::StageId stage, std::int32_t micro_batch);

}  // namespace penstock::trace
