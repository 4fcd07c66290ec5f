#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "joint/move.hpp"
#include "penstock/plan/stage_graph.hpp"

namespace penstock::planners {
namespace {

using plan::Stage;
using UnitList = std::vector<std::size_t>;

class CutMoves {
 public:
  explicit CutMoves(const MoveContext& sight) : sight_(sight), stages_(sight.draft.plan.stages) {}

  Moves all() {
    for (const auto& [s, t] : pairs()) {
      move_units(s, t, false);
      move_units(t, s, true);
      if (lone(s) && lone(t)) merge(s, t);
    }
    for (std::size_t s = 0; s < stages_.size(); ++s)
      if (lone(s)) split(s);
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kFew = 6;  ///< number of stages up to which all pairs may exchange units

  /// Pairs of stages that are neighbours in the list or by what they read; the first listed stage comes
  /// first.
  std::set<std::pair<std::size_t, std::size_t>> pairs() const {
    std::set<std::pair<std::size_t, std::size_t>> out;
    for (std::size_t s = 0; s < stages_.size(); ++s)
      for (std::size_t t = s + 1; t < stages_.size() && (t == s + 1 || stages_.size() <= kFew); ++t)
        out.insert({s, t});
    const plan::StageGraph graph(sight_.space.problem().graph, sight_.draft.plan);
    for (const plan::StageBoundary& boundary : graph.boundaries())
      out.insert({boundary.from.index(), boundary.to.index()});
    return out;
  }

  bool lone(std::size_t s) const {
    return std::ranges::any_of(sight_.ranks,
                               [&](const auto& rank) { return rank.size() == 1 && rank.front() == s; });
  }

  /// Moves some units from the front of a stage (the end nearer to a stage listed before it), or from its
  /// back.
  void move_units(std::size_t from, std::size_t to, bool front) {
    const UnitList& held = sight_.units[from];
    for (std::size_t count = 1; count < held.size(); count *= 2) {
      const auto n = static_cast<std::ptrdiff_t>(count);
      UnitList moved(front ? held.begin() : held.end() - n, front ? held.begin() + n : held.end());
      out_.push_back([&units = sight_.space.units().operators, moved, from, to](PlanDraft& draft) {
        take(units, moved, draft.plan.stages[from], draft.plan.stages[to]);
      });
    }
  }

  static void take(const std::vector<std::vector<core::OpId>>& operators, const UnitList& units, Stage& from,
                   Stage& to) {
    for (const std::size_t u : units)
      for (const core::OpId op : operators[u]) {
        std::erase(from.operators, op);
        to.operators.push_back(op);
      }
  }

  void merge(std::size_t s, std::size_t t) {
    out_.push_back([s, t](PlanDraft& draft) {
      auto& stages = draft.plan.stages;
      std::ranges::copy(stages[t].operators, std::back_inserter(stages[s].operators));
      std::ranges::copy(stages[t].devices, std::back_inserter(stages[s].devices));
      stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(t));
    });
  }

  /// Splits a stage at the quarters of its units; devices are divided in proportion, by whole groups.
  void split(std::size_t s) {
    const UnitList& held = sight_.units[s];
    const auto groups = static_cast<std::size_t>(stages_[s].replicas());
    if (groups < 2 || held.size() < 2) return;
    constexpr std::size_t kQuarters = 4;
    std::set<std::size_t> cuts;
    for (std::size_t quarter = 1; quarter < kQuarters; ++quarter)
      cuts.insert(std::clamp<std::size_t>(held.size() * quarter / kQuarters, 1, held.size() - 1));
    for (const std::size_t cut : cuts) {
      const std::size_t share =
          std::clamp<std::size_t>((groups * cut + held.size() / 2) / held.size(), 1, groups - 1);
      split_at(s, UnitList(held.begin(), held.begin() + static_cast<std::ptrdiff_t>(cut)), share);
    }
  }

  void split_at(std::size_t s, const UnitList& first_units, std::size_t groups) {
    out_.push_back([&units = sight_.space.units().operators, s, first_units, groups](PlanDraft& draft) {
      auto& stages = draft.plan.stages;
      Stage first = stages[s];
      first.operators.clear();
      take(units, first_units, stages[s], first);
      const auto end = stages[s].devices.begin() +
                       static_cast<std::ptrdiff_t>(groups * static_cast<std::size_t>(first.replica_size()));
      first.devices.assign(stages[s].devices.begin(), end);
      stages[s].devices.erase(stages[s].devices.begin(), end);
      stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(s), std::move(first));
    });
  }

  const MoveContext& sight_;
  const std::vector<Stage>& stages_;
  Moves out_;
};

}  // namespace

Moves cut_moves(const MoveContext& sight) {
  return CutMoves(sight).all();
}

}  // namespace penstock::planners
