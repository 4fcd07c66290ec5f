#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "joint/move.hpp"

namespace penstock::planners {
namespace {

using plan::Stage;
using UnitList = std::vector<std::size_t>;

/// Units grouped by the one source from which everything they read comes; the trunk's inputs come from
/// several.
struct SourceBranches {
  std::vector<UnitList> branches;
  UnitList trunk;
};

SourceBranches branches_of(const graph::Dag& units) {
  SourceBranches out;
  std::vector<std::optional<std::size_t>> branch(units.size());
  const auto of = [&](graph::Vertex v) { return branch[static_cast<std::size_t>(v)]; };
  for (std::size_t u = 0; u < units.size(); ++u) {
    const auto& reads = units.predecessors(static_cast<graph::Vertex>(u));
    if (reads.empty()) {
      branch[u] = out.branches.size();
      out.branches.emplace_back();
    } else if (std::ranges::all_of(reads, [&](graph::Vertex v) { return of(v) == of(reads.front()); })) {
      branch[u] = of(reads.front());
    }
    (branch[u] ? out.branches[*branch[u]] : out.trunk).push_back(u);
  }
  return out;
}

/// Units of a rank's two stages; families with several stages per rank need as many on each.
struct RankUnits {
  UnitList first, second;
  double load = 0;  ///< seconds
};

/// Fills both stages. Units that read from other ranks go into the second stage; if there are none, half of
/// them do.
void halve(RankUnits& rank) {
  if (!rank.first.empty() && !rank.second.empty()) return;
  UnitList all = rank.first.empty() ? std::move(rank.second) : std::move(rank.first);
  const auto half = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  rank.first.assign(all.begin(), half);
  rank.second.assign(half, all.end());
}

class BranchMoves {
 public:
  explicit BranchMoves(const MoveContext& sight)
      : space_(sight.space), found_(branches_of(sight.space.units().dag)) {
    if (found_.branches.size() < 2) return;
    like_ = sight.draft.plan.stages.front();
    like_.operators.clear();
    like_.after.clear();
    like_.devices.clear();
    for (const auto& rank : sight.ranks) {
      const auto& devices = sight.draft.plan.stages[rank.front()].devices;
      like_.devices.insert(like_.devices.end(), devices.begin(), devices.end());
    }
    const std::int64_t samples = plan::samples_per_device(like_.micro_batch, like_.replicas());
    for (std::size_t u = 0; u < space_.units().operators.size(); ++u)
      seconds_.push_back(space_.unit_seconds(u, samples));
  }

  Moves all() {
    for (std::size_t ranks = 2; ranks <= std::min(found_.branches.size(), kMostRanks); ranks *= 2) add(ranks);
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kMostRanks = 8;

  double seconds(const UnitList& units) const {
    return std::accumulate(units.begin(), units.end(), 0.0,
                           [&](double sum, std::size_t u) { return sum + seconds_[u]; });
  }

  /// Assigns the longest branch first, each to the rank with the least work; the trunk goes to the last rank.
  std::vector<RankUnits> dealt(std::size_t ranks) const {
    std::vector<RankUnits> out(ranks);
    out.back().second = found_.trunk;
    out.back().load = seconds(found_.trunk);
    std::vector<std::size_t> order(found_.branches.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(),
                             [&](std::size_t branch) { return seconds(found_.branches[branch]); });
    for (const std::size_t branch : order) {
      RankUnits& least = *std::ranges::min_element(out, {}, &RankUnits::load);
      std::ranges::copy(found_.branches[branch], std::back_inserter(least.first));
      least.load += seconds(found_.branches[branch]);
    }
    for (RankUnits& rank : out) {
      std::ranges::sort(rank.first);
      halve(rank);
    }
    return out;
  }

  /// End (one past the last group) of each rank, none empty, in proportion to the ranks' work.
  std::vector<std::size_t> group_ends(const std::vector<RankUnits>& ranks, double all) const {
    const auto groups = static_cast<std::size_t>(like_.replicas());
    std::vector<std::size_t> ends;
    double sum = 0;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      sum += ranks[r].load;
      const auto end = static_cast<std::size_t>(std::lround(sum / all * static_cast<double>(groups)));
      ends.push_back(std::clamp(end, (ends.empty() ? 0 : ends.back()) + 1, groups - (ranks.size() - 1 - r)));
    }
    return ends;
  }

  Stage stage(const UnitList& units, std::size_t first_group, std::size_t end_group) const {
    Stage out = like_;
    const auto size = static_cast<std::size_t>(like_.replica_size());
    const auto at = [&](std::size_t group) {
      return like_.devices.begin() + static_cast<std::ptrdiff_t>(group * size);
    };
    out.devices.assign(at(first_group), at(end_group));
    for (const std::size_t u : units)
      std::ranges::copy(space_.units().operators[u], std::back_inserter(out.operators));
    return out;
  }

  /// Skips branches so different that a rank has less than half of its share; other moves suit them better.
  void add(std::size_t count) {
    const auto ranks = dealt(count);
    double all = 0;
    for (const RankUnits& rank : ranks) all += rank.load;
    const bool uneven = std::ranges::any_of(ranks, [&](const RankUnits& rank) {
      return rank.first.empty() || rank.load * 2 * static_cast<double>(count) < all;
    });
    if (uneven || static_cast<std::size_t>(like_.replicas()) < count) return;
    const auto ends = group_ends(ranks, all);
    std::vector<Stage> stages;
    for (const auto part : {&RankUnits::first, &RankUnits::second})
      for (std::size_t r = 0; r < count; ++r)
        stages.push_back(stage(ranks[r].*part, r == 0 ? 0 : ends[r - 1], ends[r]));
    for (const double scale : {0.25, 0.5, 1.0, 2.0})
      out_.push_back([&space = space_, stages, scale](PlanDraft& draft) {
        draft.plan.schedule = "interleaved_1f1b";
        draft.plan.stages = stages;
        for (Stage& each : draft.plan.stages) space.scale_micro_batch(each, scale);
      });
  }

  const PlanSpace& space_;
  SourceBranches found_;
  Stage like_;                   ///< on all devices
  std::vector<double> seconds_;  ///< [unit]
  Moves out_;
};

}  // namespace

Moves branch_moves(const MoveContext& sight) {
  return BranchMoves(sight).all();
}

}  // namespace penstock::planners
