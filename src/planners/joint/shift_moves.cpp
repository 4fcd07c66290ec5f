#include <algorithm>
#include <utility>

#include "joint/move.hpp"

namespace penstock::planners {
namespace {

using plan::Stage;
using UnitList = std::vector<std::size_t>;

class ShiftMoves {
 public:
  explicit ShiftMoves(const MoveContext& sight) : sight_(sight), again_(usual_recomputation()) {}

  Moves all() const {
    Moves out;
    for (std::size_t from = 0; from < sight_.units.size(); ++from)
      for (std::size_t to = 0; to < sight_.units.size(); ++to)
        for (std::size_t count = 1; from != to && count < sight_.units[from].size(); count *= 2)
          out.push_back(shift(from, to, count));
    return out;
  }

 private:
  plan::Recomputation usual_recomputation() const {
    const auto& stages = sight_.draft.plan.stages;
    const auto found = std::ranges::find_if(stages, [](const Stage& s) { return bool(s.recompute); });
    return found == stages.end() ? plan::Recomputation{} : found->recompute;
  }

  /// Moves units; the stages between pass on as many as they get, from their other end.
  Move shift(std::size_t from, std::size_t to, std::size_t count) const {
    const std::size_t first = std::min(from, to), last = std::max(from, to);
    UnitList row;
    std::vector<std::size_t> sizes;
    for (std::size_t s = first; s <= last; ++s) {
      row.insert(row.end(), sight_.units[s].begin(), sight_.units[s].end());
      sizes.push_back(sight_.units[s].size());
    }
    sizes[from - first] -= count;
    sizes[to - first] += count;
    return [&space = sight_.space, again = again_, first, row = std::move(row),
            sizes = std::move(sizes)](PlanDraft& draft) {
      auto next = row.begin();
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto end = next + static_cast<std::ptrdiff_t>(sizes[i]);
        deal(space, {next, end}, again, draft.plan.stages[first + i]);
        next = end;
      }
    };
  }

  /// Sets the units of a stage. A stage that now has operators to recompute does so like the others.
  static void deal(const PlanSpace& space, const UnitList& units, const plan::Recomputation& again,
                   Stage& stage) {
    const graph::OpGraph& graph = space.problem().graph;
    const bool idle = !stage.recompute && !plan::applies(graph, stage.operators, again);
    stage.operators.clear();
    for (const std::size_t unit : units) {
      const auto& operators = space.units().operators[unit];
      stage.operators.insert(stage.operators.end(), operators.begin(), operators.end());
    }
    if (idle && plan::applies(graph, stage.operators, again)) stage.recompute = again;
  }

  const MoveContext& sight_;
  plan::Recomputation again_;
};

}  // namespace

Moves shift_moves(const MoveContext& sight) {
  return ShiftMoves(sight).all();
}

}  // namespace penstock::planners
