#include "colocated_order.hpp"

#include <algorithm>

namespace penstock::schedule {
namespace {

Action renumbered(Action action, const std::vector<std::int32_t>& stages) {
  for (std::int32_t* stage : {&action.stage, &action.backward_stage})
    if (*stage >= 0) *stage = stages[static_cast<std::size_t>(*stage)];
  return action;
}

}  // namespace

Schedule with_colocated(const plan::Plan& plan, const plan::PipelineOf& pipeline, const Schedule& rows) {
  Schedule out{{}, plan::rank_of_stage(plan)};
  out.ranks.resize(rows.ranks.size());
  const auto row_of = [&](std::size_t stage) -> RankOrder& {
    return out.ranks[static_cast<std::size_t>(out.rank_of_stage[stage])];
  };
  const auto add_passes = [&](std::size_t s, Action (*pass)(int, int)) {
    const plan::Stage& stage = plan.stages[s];
    for (int m = 0; stage.part && m < plan.training.mini_batch / stage.micro_batch; ++m)
      row_of(s).push_back(pass(static_cast<int>(s), m));
  };
  for (std::size_t s = 0; s < plan.stages.size(); ++s) add_passes(s, forward);
  for (std::size_t r = 0; r < rows.ranks.size(); ++r) {  // both count their ranks by themselves
    const auto stage = std::ranges::find(rows.rank_of_stage, static_cast<std::int32_t>(r));
    const auto first = static_cast<std::size_t>(stage - rows.rank_of_stage.begin());
    RankOrder& row = row_of(static_cast<std::size_t>(pipeline.stages[first]));
    for (const Action& action : rows.ranks[r]) row.push_back(renumbered(action, pipeline.stages));
  }
  for (std::size_t s = plan.stages.size(); s-- > 0;) add_passes(s, backward);
  return out;
}

}  // namespace penstock::schedule
