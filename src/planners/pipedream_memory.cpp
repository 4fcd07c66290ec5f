#include "pipedream_memory.hpp"

namespace penstock::planners {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

StashMemory::StashMemory(const cost::Problem& problem, const ProblemCuts& cuts, std::int64_t samples)
    : problem_(problem), cuts_(cuts), samples_(samples) {
  for (std::size_t c = 0; c < cuts.size(); ++c)
    up_to_.push_back(cost::stage_load(problem.graph, cuts.operators(0, c)));
}

core::Bytes StashMemory::total(const cost::StageLoad& load, std::int64_t replicas,
                               std::int64_t behind) const {
  const std::int64_t held = ceil_div(behind + replicas, replicas);
  const std::int64_t per_update = problem_.training.mini_batch / samples_ / replicas;
  const std::int64_t older = ceil_div(held - 1, std::max<std::int64_t>(1, per_update));
  return plan::total(cost::stage_memory(load, problem_.memory, problem_.training.optimizer, samples_, held)) +
         load.parameters * older;
}

core::Bytes StashMemory::need(std::size_t first, std::size_t last, std::int64_t replicas,
                              std::int64_t behind) const {
  return total(cost::stage_load(problem_.graph, cuts_.operators(first, last)), replicas, behind);
}

/// Without what enters, leaves and works.
cost::StageLoad StashMemory::sums(std::size_t first, std::size_t last) const {
  cost::StageLoad load = up_to_[last];
  load.entering = load.leaving = load.working = core::Bytes(0);
  if (first == 0) return load;
  load.parameters -= up_to_[first - 1].parameters;
  load.kept -= up_to_[first - 1].kept;
  return load;
}

bool StashMemory::fits(std::size_t first, std::size_t last, std::int64_t replicas, std::int64_t behind,
                       core::Bytes bytes) const {
  cost::StageLoad load = sums(first, last);
  if (total(load, replicas, behind) > bytes) return false;
  if (first > 0) load.entering = up_to_[first - 1].leaving;
  load.leaving = up_to_[last].leaving;
  load.working = up_to_[last].working;
  return total(load, replicas, behind) <= bytes || need(first, last, replicas, behind) <= bytes;
}

}  // namespace penstock::planners
