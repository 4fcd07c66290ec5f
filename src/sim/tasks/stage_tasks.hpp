#pragma once
// Tasks of the instructions of a program.

#include "penstock/program/program.hpp"
#include "tasks/task_graph.hpp"

namespace penstock::sim {

/// Task of the first device for every instruction of a rank's row: its own if it computes, otherwise that of
/// the last computing instruction before it. The i-th device's task has an index i higher.
struct RankTasks {
  TaskId first = 0, end = 0;  ///< of all devices
  std::vector<TaskId> at;     ///< [position]; first - devices before any computation
};

/// Tasks of a stage's passes on its first device; the i-th device's task has an index i higher.
struct StageTasks {
  program::SampleSharing sharing;
  TaskId first = 0;  ///< first task of the rank
  std::vector<program::PassStretch> forward, backward;
  std::vector<TaskId> recompute, release;  ///< as in program::StageIndex

  std::int32_t devices() const { return sharing.replicas * sharing.group; }
};

/// Converts positions to tasks.
StageTasks stage_tasks(const RankTasks& rank, program::StageProgram stage);

}  // namespace penstock::sim
