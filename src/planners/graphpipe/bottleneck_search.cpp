#include "graphpipe/bottleneck_search.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::planners {
namespace {

class BottleneckSearch {
 public:
  BottleneckSearch(const UnitArrangement& arrangement, const StageTable& table, double give_up,
                   core::StopToken stop)
      : arrangement_(arrangement), table_(table), give_up_(give_up), stop_(stop) {}

  /// Minimum bottleneck, tried from `least` on; a bound of `failed` is known to be too low.
  std::optional<BottleneckResult> run(LevelCounting levels, double least, double failed) {
    best_.reset();
    failed_ = failed;
    try {
      return bracket(levels, least) && narrow(levels) ? std::move(best_) : std::nullopt;
    } catch (const core::LimitHit&) {
      if (!best_) throw;
      best_->complete = false;
      return std::move(best_);
    }
  }
  std::uint64_t rows() const { return rows_; }

 private:
  bool bracket(LevelCounting levels, double least) {
    // Try growing bounds until a partition meets one.
    constexpr double kGrowth[] = {1, 1.01, 1.05, 1.2, 1.6, 3, 12};
    for (double growth : kGrowth) {
      if (failed_ >= give_up_) return false;
      if (probe(levels, least * growth)) return true;
      failed_ = least * growth;
    }
    return failed_ < give_up_ && probe(levels, std::numeric_limits<double>::infinity());
  }

  /// Closes the gap between the failed bound and the best partition. Near the optimum a found partition is
  /// often the best, so a probe just below it comes before halving.
  bool narrow(LevelCounting levels) {
    constexpr double kNear = 0.02;
    while (failed_ < give_up_) {
      if (best_->seconds_per_sample - failed_ <= kNear * failed_) {
        const double faster = std::nextafter(best_->seconds_per_sample, 0);
        if (faster <= failed_ || !probe(levels, faster)) return true;
      }
      // Halve the gap between the bound that failed and the best partition.
      const double half = failed_ + (best_->seconds_per_sample - failed_) / 2;
      if (!probe(levels, half)) failed_ = half;
    }
    return false;
  }

  /// Keeps the partition and returns true if one meets the bound.
  bool probe(LevelCounting levels, double bound) {
    PartitionSearch partition(arrangement_, table_, bound, levels, stop_);
    auto stages = partition.solve();
    rows_ += partition.rows();
    if (!stages) return false;
    const double attained = slowest(*stages);
    core::require(attained <= bound, "a partition meets its bound");
    best_ = BottleneckResult{std::move(*stages), attained, 0};
    return true;
  }

  double slowest(const std::vector<PartStage>& stages) const {
    const auto& replicas = table_.choices().replicas;
    double most = 0;
    for (const PartStage& stage : stages) {
      const auto index =
          std::lower_bound(replicas.begin(), replicas.end(), stage.replicas) - replicas.begin();
      most = std::max(most, table_.time_per_sample(stage.set, table_.load(stage.set), stage.config,
                                                   static_cast<int>(index)));
    }
    return most;
  }

  const UnitArrangement& arrangement_;
  const StageTable& table_;
  double give_up_;  ///< cutoff: bottlenecks at or above this are not needed
  core::StopToken stop_;
  double failed_ = 0;  ///< no partition meets this bound
  std::optional<BottleneckResult> best_;
  std::uint64_t rows_ = 0;
};

}  // namespace

double bottleneck_bound(const StageTable& table) {
  double bound = table.total_work() / table.devices();
  for (int p = 0; p < table.positions(); ++p) bound = std::max(bound, table.least_compute({{p, p + 1}}));
  return bound;
}

/// Searches from the optimum without memory limits; at the deadline returns the best so far.
static std::optional<BottleneckResult> counted(BottleneckSearch& search, BottleneckResult& unlimited) {
  const double least = unlimited.seconds_per_sample;
  try {
    return search.run(LevelCounting::counted, least, std::nextafter(least, 0));
  } catch (const core::LimitHit&) {
    unlimited.complete = false;
    return std::move(unlimited);
  }
}

std::optional<BottleneckResult> least_bottleneck(const UnitArrangement& arrangement, const StageTable& table,
                                                 core::StopToken stop, double give_up) {
  BottleneckSearch search(arrangement, table, give_up, stop);
  const double least = bottleneck_bound(table);
  // 1. The minimum bottleneck without a memory limit, a lower bound on the one with it.
  auto unlimited = search.run(LevelCounting::ignored, least, least * (1 - 1e-12));
  auto found = unlimited;
  // 2. From there, with in-flight samples and memory counted.
  if (unlimited && unlimited->complete) found = counted(search, *unlimited);
  if (found) found->rows = search.rows();
  return found;
}

}  // namespace penstock::planners
