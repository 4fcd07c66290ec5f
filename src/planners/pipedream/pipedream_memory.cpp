#include "pipedream/pipedream_memory.hpp"

#include <algorithm>

#include "penstock/core/parallel.hpp"
#include "penstock/graph/ties.hpp"

namespace penstock::planners {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

StashMemory::StashMemory(const cost::Problem& problem, const ProblemCuts& cuts, core::StopToken stop)
    : problem_(problem), cuts_(cuts), up_to_(cuts.size()) {
  core::parallel_for(cuts.size(), [&](std::size_t c) {
    stop.check();
    up_to_[c] = cost::stage_load(problem, cuts.operators(0, c));
  });
  ties_ = std::ranges::any_of(problem.graph.all_parameters(), &graph::Parameter::tied);
}

core::Bytes StashMemory::total(const cost::StageLoad& load, const ReplicatedStage& stage,
                               std::int64_t samples) const {
  const std::int64_t held = ceil_div(stage.behind + stage.replicas, stage.replicas);
  const std::int64_t per_update = problem_.training.mini_batch / samples / stage.replicas;
  const std::int64_t versions = ceil_div(held - 1, std::max<std::int64_t>(1, per_update));
  const std::int64_t older = std::max<std::int64_t>(versions, stage.replicas > 1 ? 1 : 0);
  return plan::total(cost::stage_memory(load, problem_.memory, problem_.training, samples, held)) +
         load.parameters * older;
}

/// Load without inputs, outputs and workspace.
cost::StageLoad StashMemory::sums(const ReplicatedStage& stage) const {
  cost::StageLoad load = up_to_[stage.last];
  load.inputs = load.outputs = core::Bytes(0);
  load.workspace = {};
  if (stage.first == 0) return load;
  load.parameters -= up_to_[stage.first - 1].parameters;
  load.frozen -= up_to_[stage.first - 1].frozen;
  load.activations -= up_to_[stage.first - 1].activations;
  load.statistics -= up_to_[stage.first - 1].statistics;
  return load;
}

bool StashMemory::fits(const ReplicatedStage& stage, std::int64_t samples, core::Bytes bytes) const {
  cost::StageLoad load = sums(stage);
  if (total(load, stage, samples) > bytes) return false;
  if (stage.first > 0) load.inputs = up_to_[stage.first - 1].outputs;
  load.outputs = up_to_[stage.last].outputs;
  for (const cost::MemoryLine& line : up_to_[stage.last].workspace.lines())
    load.workspace.raise(line + cost::MemoryLine{{}, load.inputs});  // gradients of inputs stay until the end
  if (!ties_ && total(load, stage, samples) <= bytes) return true;
  load = cost::stage_load(problem_, cuts_.operators(stage.first, stage.last));
  return total(load, stage, samples) <= bytes;
}

}  // namespace penstock::planners
