#pragma once
// Collectives between the pieces of passes, as messages.

#include "tasks/cut_passes.hpp"
#include "tasks/group_messages.hpp"
#include "tasks/stage_tasks.hpp"

namespace penstock::sim {

/// A rank whose passes are tasks already.
struct CutRank {
  const program::Program& program;
  const plan::Plan& plan;
  const program::Row& row;
  const RankTasks& tasks;
};

/// Adds the messages of all groups of the rank's stages: they wait for tasks of the pieces that make what
/// they move, and the pieces that need it wait for what they receive. Senders go on meanwhile.
void add_collectives(CutPasses& cut, const CutRank& rank, GroupMessages& messages, TaskList& tasks);

}  // namespace penstock::sim
