#pragma once
// Which tasks are the instructions of a program.

#include "penstock/program/program.hpp"
#include "tasks/task_graph.hpp"

namespace penstock::sim {

/// A task of the first device for every instruction of a rank's row: its own where it computes, else that of
/// what computes before it. The i-th device's is i later.
struct RankTasks {
  TaskId first = 0, end = 0;  ///< of all devices
  std::vector<TaskId> at;     ///< [position]; first - devices before anything computes
};

/// The tasks of a stage's passes, of its first device; that of the i-th device is i later.
struct StageTasks {
  program::Sharing sharing;
  TaskId first = 0;  ///< of the rank
  std::vector<program::Stretch> forward, backward;
  std::vector<TaskId> recompute, release;  ///< as in program::StageIndex

  std::int32_t devices() const { return sharing.replicas * sharing.group; }
};

/// Positions become tasks.
StageTasks stage_tasks(const RankTasks& rank, program::Stage stage);

}  // namespace penstock::sim
