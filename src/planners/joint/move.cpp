#include "joint/move.hpp"

#include <algorithm>

namespace penstock::planners {

MoveContext::MoveContext(const PlanSpace& of, const PlanDraft& from) : space(of), draft(from) {
  const auto rank = plan::rank_of_stage(draft.plan);
  for (std::size_t s = 0; s < rank.size(); ++s) {
    std::vector<std::size_t>& held = units.emplace_back();
    for (const core::OpId op : draft.plan.stages[s].operators) held.push_back(space.unit_of(op));
    std::ranges::sort(held);
    held.erase(std::unique(held.begin(), held.end()), held.end());
    const auto r = static_cast<std::size_t>(rank[s]);
    ranks.resize(std::max(ranks.size(), r + 1));
    ranks[r].push_back(s);
  }
}

std::vector<Moves> moves(const MoveContext& sight, ChangeScope change) {
  if (change == ChangeScope::cuts) return {shift_moves(sight)};
  std::vector<Moves> out;
  for (const auto kind : {cut_moves, device_moves, pace_moves, memory_moves, partition_moves, shape_moves,
                          branch_moves, mesh_moves})
    out.push_back(kind(sight));
  if (sight.space.row_of_layers()) out.push_back(shift_moves(sight));
  return out;
}

}  // namespace penstock::planners
