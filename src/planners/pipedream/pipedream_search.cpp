#include "pipedream/pipedream_search.hpp"

#include <algorithm>
#include <cmath>

#include "penstock/core/parallel.hpp"
#include "pipedream/pipedream_row.hpp"

namespace penstock::planners {
namespace {

class CutSearch {
 public:
  CutSearch(const std::vector<CutState>& states, const std::vector<PipedreamLevel>& levels,
            const PipedreamRules& rules, core::StopToken stop)
      : cuts_(states), levels_(levels), rules_(rules), stop_(stop) {
    times_.push_back(interval_times(cuts_, rules.nested ? nested(layer_times(states)) : layer_times(states)));
    for (std::size_t l = 0; l + 1 < levels.size(); ++l)
      times_.push_back(interval_times(cuts_, level_inside(l)));
  }

  std::optional<PipedreamResult> run() {
    const std::size_t end = cuts_.size() - 1, top = levels_.size() - 1;
    const RowContext context = at(top);
    const PipedreamRow row(context, 0, cuts_.size());
    if (row.best(end) == kNever) return std::nullopt;
    return PipedreamResult{row.best(end), filled(row.stages(end), top), entries()};
  }

 private:
  TriangleTable nested(TriangleTable times) const {
    for (std::size_t last = 0; last < cuts_.size(); ++last)
      for (std::size_t first = 1; first <= last; ++first)
        if (!cuts_.before[last].test(first - 1)) times.row(last)[first] = kNever;
    return times;
  }

  RowContext at(std::size_t level) const {
    const int inside = level == 0 ? 1 : levels_[level - 1].machines;
    return {cuts_, times_[level], levels_[level], level, rules_, {rules_, levels_[level], inside}, stop_};
  }

  /// Compute times for the next level: the optimum of this level on all its machines.
  TriangleTable level_inside(std::size_t level) const {
    TriangleTable whole(cuts_.size());
    const RowContext context = at(level);
    core::parallel_for(cuts_.size(), [&](std::size_t first) {
      const PipedreamRow row(context, first, cuts_.size());
      for (std::size_t last = first; last < cuts_.size(); ++last) whole.row(last)[first] = row.best(last);
    });
    return whole;
  }

  /// Adds to the stages of a level the split of their replicas inside.
  std::vector<PipedreamStage> filled(std::vector<PipedreamStage> stages, std::size_t level) const {
    if (level == 0) return stages;
    const RowContext inside = at(level - 1);
    for (PipedreamStage& stage : stages) {
      const PipedreamRow row(inside, stage.first, stage.last + 1);
      stage.inside = filled(row.stages(stage.last), level - 1);
    }
    return stages;
  }

  std::uint64_t entries() const {
    const std::uint64_t n = cuts_.size();
    std::uint64_t out = n * static_cast<std::uint64_t>(levels_.back().machines);
    for (std::size_t l = 0; l + 1 < levels_.size(); ++l)
      out += n * (n + 1) / 2 * static_cast<std::uint64_t>(levels_[l].machines);
    return out;
  }

  CutRow cuts_;
  const std::vector<PipedreamLevel>& levels_;
  const PipedreamRules& rules_;
  core::StopToken stop_;
  std::vector<IntervalTimes> times_;  ///< [level]
};

}  // namespace

std::optional<PipedreamResult> pipedream_search(const std::vector<CutState>& states,
                                                const std::vector<PipedreamLevel>& levels,
                                                const PipedreamRules& rules, core::StopToken stop) {
  core::require(!states.empty() && !levels.empty(), "PipeDream's search has cuts and levels");
  return CutSearch(states, levels, rules, stop).run();
}

std::function<bool(const StageUse&)> stash_rule(const std::vector<CutState>& states, double bytes) {
  return [&states, bytes](const StageUse& use) {
    const CutState& last = states[use.last];
    double stashed = last.activation + last.parameters;
    if (use.first > 0) stashed -= states[use.first - 1].activation + states[use.first - 1].parameters;
    return stashed * std::ceil(static_cast<double>(use.behind) / use.machines) <= bytes;
  };
}

}  // namespace penstock::planners
