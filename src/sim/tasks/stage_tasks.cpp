#include "tasks/stage_tasks.hpp"

#include <utility>

namespace penstock::sim {

StageTasks stage_tasks(const RankTasks& rank, program::StageProgram stage) {
  const auto task = [&](std::int32_t& position) {
    if (position >= 0) position = rank.at[static_cast<std::size_t>(position)];
  };
  program::StageIndex& index = stage.index;
  for (auto* passes : {&index.forward, &index.backward})
    for (program::PassStretch& pass : *passes) task(pass.first), task(pass.last);
  for (auto* positions : {&index.recompute, &index.release})
    for (std::int32_t& position : *positions) task(position);
  return {stage.sharing,
          rank.first,
          std::move(index.forward),
          std::move(index.backward),
          std::move(index.recompute),
          std::move(index.release)};
}

}  // namespace penstock::sim
