#pragma once
// Tasks after the passes of a mini-batch: gradient reductions and barriers.

#include "penstock/cost/buckets.hpp"
#include "penstock/sim/options.hpp"
#include "tasks/stage_tasks.hpp"
#include "tasks/task_list.hpp"

namespace penstock::sim {

/// Tasks built so far.
struct BuiltRows {
  const program::Program& program;
  const std::vector<std::vector<cost::GradientBucket>>& buckets;  ///< [stage]
  const std::vector<std::vector<core::DeviceId>>& devices;        ///< [rank]
  const std::vector<RankTasks>& tasks;                            ///< [rank]
};

/// Adds reductions and barriers. The reduce stream of a rank runs one all-reduce at a time; a STEP waits for
/// its own. After those of a rank come the reductions among stages that share parameters
/// (cost/shared_reduction.hpp), in the order of their owners on every rank. The k-th has k as its task's
/// micro-batch. Reductions of stages behind the pipeline come before all others. Without a flush they are
/// left out. The k-th barriers of all ranks are one task.
void add_updates(const cost::Problem& problem, const plan::Plan& plan, const SimulationOptions& options,
                 const BuiltRows& built, TaskList& tasks);

}  // namespace penstock::sim
