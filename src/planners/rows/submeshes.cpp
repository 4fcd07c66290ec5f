#include "rows/submeshes.hpp"

#include <algorithm>
#include <limits>

namespace penstock::planners {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();
constexpr std::size_t kComparisonsBetweenChecks = 1 << 16;  // comparisons

/// Cheapest configuration of a run on a submesh; with memory counted, by the minimum number of following
/// stages.
class CheapestConfig {
 public:
  explicit CheapestConfig(const SubmeshCosts& costs) : costs_(costs) {}
  /// Index of the cheapest configuration that allows `following` stages behind it, or -1.
  int operator()(int begin, int last, std::size_t submesh, int following) const {
    int best = -1;
    double least = kImpossible;
    for (int c = 0; c < costs_.configs; ++c) {
      const std::size_t at = costs_.index(begin, last, submesh, c);
      if (!costs_.most_following.empty() && costs_.most_following[at] < following) continue;
      if (costs_.cost[at] < least) least = costs_.cost[at], best = c;
    }
    return best;
  }

 private:
  const SubmeshCosts& costs_;
};

class SubmeshSearch {
 public:
  SubmeshSearch(const SubmeshCosts& costs, core::StopToken stop)
      : costs_(costs), stop_(stop), cheapest_(costs) {
    for (double cost : costs.cost)
      if (cost < kImpossible) limits_.push_back(cost);
    std::size_t compared = 0;
    std::sort(limits_.begin(), limits_.end(), [&](double a, double b) {
      if (++compared % kComparisonsBetweenChecks == 0) stop_.check();
      return a < b;
    });
    limits_.erase(std::unique(limits_.begin(), limits_.end()), limits_.end());
  }

  std::optional<SubmeshPlan> run() {
    if (limits_.empty()) return std::nullopt;
    const auto loosest = least_sum(limits_.back());
    if (loosest) narrow(0, *loosest);
    if (best_) best_->states = states_;
    return std::move(best_);
  }

 private:
  /// Looks for plans with a slowest stage of at least limits_[low], given the plan of minimum sum for some
  /// higher limit.
  void narrow(std::size_t low, const SubmeshPlan& loose) {
    keep(loose);
    // Up to the limit that `loose` attains it is the best; below, no plan has a smaller sum.
    const auto attained = static_cast<std::size_t>(
        std::lower_bound(limits_.begin(), limits_.end(), loose.slowest) - limits_.begin());
    if (attained <= low || hopeless(low, loose)) return;
    const std::size_t middle = low + (attained - low) / 2;  // below `attained`
    const auto tight = least_sum(limits_[middle]);
    if (tight) narrow(low, *tight);
    if (middle + 1 < attained) {
      if (hopeless(middle + 1, loose)) return;
      const auto next = least_sum(limits_[attained - 1]);
      if (next) narrow(middle + 1, *next);
    }
  }
  bool hopeless(std::size_t low, const SubmeshPlan& loose) const {
    return loose.sum + (costs_.micro_batches - 1) * limits_[low] >= best_->total;
  }

  void keep(const SubmeshPlan& plan) {
    if (!best_ || plan.total < best_->total) best_ = plan;
  }

  /// Minimum sum over stages none of which costs more than the limit.
  std::optional<SubmeshPlan> least_sum(double limit) {
    auto plan = solve(limit, false);
    if (!plan || costs_.most_following.empty() || fits(*plan)) return plan;
    return solve(limit, true);
  }

  bool fits(const SubmeshPlan& plan) const {
    int following = static_cast<int>(plan.stages.size());
    return std::all_of(plan.stages.begin(), plan.stages.end(), [&](const SubmeshStage& stage) {
      return costs_.most_following[costs_.index(stage.begin, stage.end - 1, stage.submesh, stage.config)] >=
             --following;
    });
  }

  std::optional<SubmeshPlan> solve(double limit, bool count_stages) {
    stop_.check();
    limit_ = limit;
    deep_ = count_stages ? std::min(costs_.layers, costs_.devices) : 0;
    cells_.assign(static_cast<std::size_t>(deep_ + 1) * static_cast<std::size_t>(costs_.layers + 1) *
                      static_cast<std::size_t>(costs_.devices + 1),
                  {});
    at(0, costs_.layers, 0).sum = 0;
    for (int s = count_stages ? 1 : 0; s <= deep_; ++s)
      for (int l = costs_.layers - 1; l >= 0; --l)
        for (int submesh = 0; submesh < static_cast<int>(costs_.sizes.size()); ++submesh)
          add_stages(s, l, static_cast<std::size_t>(submesh));
    states_ += cells_.size();
    int best = 0;
    for (int s = 1; s <= deep_; ++s)
      if (at(s, 0, costs_.devices).sum < at(best, 0, costs_.devices).sum) best = s;
    if (at(best, 0, costs_.devices).sum == kImpossible) return std::nullopt;
    return trace(best);
  }

  /// Adds one first stage on layers [l, end) for every end, in front of every device count. With s = 0 stages
  /// are not counted.
  void add_stages(int s, int l, std::size_t submesh) {
    stop_.check();
    const int size = costs_.sizes[submesh], before = std::max(0, s - 1);
    for (int end = l + 1; end <= costs_.layers; ++end) {
      const int config = s > 0 ? cheapest_(l, end - 1, submesh, s - 1) : cheapest_(l, end - 1, submesh, 0);
      if (config < 0) continue;
      const double cost = costs_.cost[costs_.index(l, end - 1, submesh, config)];
      if (cost > limit_) continue;
      for (int d = size; d <= costs_.devices; ++d) {
        const double sum = cost + at(before, end, d - size).sum;
        TableCell& cell = at(s, l, d);
        if (sum < cell.sum) cell = {sum, {l, end, submesh, config, cost}};
      }
    }
  }

  SubmeshPlan trace(int s) {
    SubmeshPlan plan;
    plan.sum = at(s, 0, costs_.devices).sum;
    for (int l = 0, d = costs_.devices; l < costs_.layers; s = std::max(0, s - 1)) {
      const SubmeshStage& stage = at(s, l, d).first;
      plan.stages.push_back(stage);
      plan.slowest = std::max(plan.slowest, stage.cost);
      l = stage.end;
      d -= costs_.sizes[stage.submesh];
    }
    plan.total = plan.sum + (costs_.micro_batches - 1) * plan.slowest;
    return plan;
  }

  struct TableCell {
    double sum = kImpossible;
    SubmeshStage first{};
  };
  TableCell& at(int s, int l, int d) {
    return cells_[static_cast<std::size_t>((s * (costs_.layers + 1) + l) * (costs_.devices + 1) + d)];
  }

  const SubmeshCosts& costs_;
  core::StopToken stop_;
  CheapestConfig cheapest_;
  std::vector<double> limits_;  ///< distinct stage costs, ascending
  double limit_ = 0;
  int deep_ = 0;                  ///< number of stages counted; 0: not counted
  std::vector<TableCell> cells_;  ///< [stages][first layer][devices] rest of the row
  std::optional<SubmeshPlan> best_;
  std::uint64_t states_ = 0;
};

}  // namespace

std::optional<SubmeshPlan> least_sum_and_slowest(const SubmeshCosts& costs, core::StopToken stop) {
  return SubmeshSearch(costs, stop).run();
}

}  // namespace penstock::planners
