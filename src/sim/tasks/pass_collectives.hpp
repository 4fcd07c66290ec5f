#pragma once
// Collectives between the pieces of passes, as messages.

#include "tasks/cut_passes.hpp"
#include "tasks/group_messages.hpp"
#include "tasks/stage_tasks.hpp"

namespace penstock::sim {

/// A rank whose passes are already tasks.
struct CutRank {
  const program::Program& program;
  const plan::Plan& plan;
  const program::Row& row;
  const RankTasks& tasks;
};

/// Adds the messages of all groups of the rank's stages. They wait for the pieces that make their data, and
/// the pieces that need the result wait for them. Senders continue meanwhile.
void add_collectives(CutPasses& cut, const CutRank& rank, GroupMessages& messages, TaskList& tasks);

}  // namespace penstock::sim
