#include "penstock/score/validate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/plan/faults.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/order.hpp"

namespace penstock::score {

plan::MemoryByKind stage_memory(const cost::Problem& problem, const plan::Plan& judged, core::StageId id) {
  const plan::Stage& stage = judged.stages[id.index()];
  const auto load = cost::stage_load(problem.graph, stage.operators);
  auto memory = cost::stage_memory(load, problem.memory, problem.training.optimizer, plan::samples_per_device(judged, stage),
                                   stage.in_flight / stage.micro_batch, stage.recompute);
  at(memory, plan::MemoryKind::versions) = load.parameters * schedule::weight_copies(judged)[id.index()];
  return memory;
}

namespace {

/// Stages that share their devices add up.
struct RankMemory {
  std::vector<std::size_t> stages;
  core::Bytes needed;
};

std::vector<RankMemory> by_rank(const cost::Problem& problem, const plan::Plan& judged) {
  std::vector<RankMemory> ranks;
  const auto rank_of_stage = plan::rank_of_stage(judged);
  for (std::size_t s = 0; s < judged.stages.size(); ++s) {
    const auto r = static_cast<std::size_t>(rank_of_stage[s]);
    ranks.resize(std::max(ranks.size(), r + 1));
    ranks[r].stages.push_back(s);
    ranks[r].needed += plan::total(score::stage_memory(problem, judged, core::StageId(s)));
  }
  return ranks;
}

std::vector<std::string> order_faults(const cost::Problem& problem, const plan::Plan& judged) {
  try {
    return schedule::order_faults(judged, order_of(problem, judged));
  } catch (const core::BadInput& e) {
    return {e.what()};
  }
}

}  // namespace

std::vector<std::string> rule_faults(const cost::Problem& problem, const plan::Plan& judged) {
  auto out = plan::structural_faults(problem.graph, problem.cluster, judged);
  return out.empty() ? order_faults(problem, judged) : out;
}

std::vector<std::string> memory_faults(const cost::Problem& problem, const plan::Plan& judged) {
  std::vector<std::string> out;
  for (const RankMemory& rank : by_rank(problem, judged)) {
    for (core::DeviceId d : judged.stages[rank.stages.front()].devices) {
      const core::Bytes has = problem.cluster.type(d).memory;
      if (rank.needed > has)
        out.push_back(fmt::format("stage{} {} need{} {} on device {}, which has {}: {} missing",
                                  rank.stages.size() > 1 ? "s" : "", fmt::join(rank.stages, ", "),
                                  rank.stages.size() > 1 ? "" : "s", core::show(rank.needed), d.index(), core::show(has),
                                  core::show(rank.needed - has)));
    }
  }
  return out;
}

std::vector<std::string> faults(const cost::Problem& problem, const plan::Plan& judged) {
  if (auto out = plan::structural_faults(problem.graph, problem.cluster, judged); !out.empty()) return out;
  auto out = order_faults(problem, judged);
  const auto memory = memory_faults(problem, judged);
  out.insert(out.end(), memory.begin(), memory.end());
  return out;
}

}  // namespace penstock::score
