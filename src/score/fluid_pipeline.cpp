#include "fluid_pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock::score {
namespace {

/// Micro-batches that rank r holds at least.
double in_flight(const FluidPipeline& pipeline, std::int64_t r) {
  return static_cast<double>(std::min(pipeline.micro_batches, pipeline.ranks - r));
}
/// Bytes of rank r that no layer gets.
double fixed(const FluidPipeline& pipeline, std::int64_t r) {
  return (r == 0 ? pipeline.before : 0) + (r + 1 == pipeline.ranks ? pipeline.behind : 0);
}

constexpr double kMostShare = 1e6;  // of layers that need hardly any memory

/// Largest share of the layers that a rank can take, by its time for one micro-batch: concave, because a rank
/// may mix options.
class ShareCurve {
 public:
  ShareCurve(const FluidPipeline& pipeline, double memory, double in_flight) {
    std::vector<CurvePoint> ends;
    for (const LayerOption& option : pipeline.options) {
      const double needed = pipeline.state + in_flight * option.kept;
      const double share = memory / std::max(needed, memory / kMostShare);
      ends.push_back({option.seconds * share, share});
    }
    std::ranges::sort(ends, {}, [](const CurvePoint& end) { return std::pair(end.seconds, -end.share); });
    for (const CurvePoint& end : ends) add(end);
    cut_at_all();
  }

  double share(double seconds) const {
    for (std::size_t k = 1; k < corners_.size(); ++k) {
      const CurvePoint &from = corners_[k - 1], &to = corners_[k];
      if (seconds < to.seconds)
        return from.share + (seconds - from.seconds) * (to.share - from.share) / (to.seconds - from.seconds);
    }
    return corners_.back().share;
  }
  double most() const { return corners_.back().share; }

  /// Time up to `limit` where the share less `price` times the time is largest: at a corner or the limit.
  double best_time(double limit, double price) const {
    double best = 0, worth = 0;
    const auto consider = [&](double seconds) {
      if (const double here = share(seconds) - price * seconds; here > worth) worth = here, best = seconds;
    };
    for (const CurvePoint& corner : corners_)
      if (corner.seconds < limit) consider(corner.seconds);
    consider(limit);
    return best;
  }

 private:
  struct CurvePoint {
    double seconds, share;
  };
  static double slope(const CurvePoint& from, const CurvePoint& to) {
    return (to.share - from.share) / (to.seconds - from.seconds);
  }
  /// Adds a corner of the upper hull, which starts at nothing in no time.
  void add(const CurvePoint& end) {
    if (end.share <= corners_.back().share) return;
    while (corners_.size() > 1 &&
           slope(corners_[corners_.size() - 2], corners_.back()) <= slope(corners_.back(), end))
      corners_.pop_back();
    corners_.push_back(end);
  }

  /// No rank takes more than all layers.
  void cut_at_all() {
    while (corners_.size() > 2 && corners_[corners_.size() - 2].share >= 1) corners_.pop_back();
    if (corners_.back().share <= 1) return;
    const CurvePoint& before = corners_[corners_.size() - 2];
    corners_.back() = {before.seconds + (1 - before.share) / slope(before, corners_.back()), 1};
  }

  std::vector<CurvePoint> corners_ = {{0, 0}};
};

/// Upper bound on the share of the layers that all ranks together complete in a given time.
class SharedLayers {
 public:
  SharedLayers(const FluidPipeline& pipeline, const PipelineFill& fill)
      : fill_(fill), micro_batches_(static_cast<double>(pipeline.micro_batches)) {
    for (std::int64_t r = 0; r < pipeline.ranks; ++r)
      curves_.emplace_back(pipeline, std::max(0.0, pipeline.memory - fixed(pipeline, r)),
                           in_flight(pipeline, r));
    least_ = std::ranges::min(pipeline.options, {}, &LayerOption::seconds).seconds;
  }

  bool ever() const {
    double sum = 0;
    for (const ShareCurve& curve : curves_) sum += curve.most();
    return sum >= 1;
  }

  /// With one stage per rank, a second more of rank r's work for one micro-batch takes at most 1/m seconds from
  /// each later rank. A second there is worth at most 1/least of the layers. So `later / (m least)` is a price
  /// that no loss exceeds. Rank r counts with all of its time. The later ranks wait only for the time that is
  /// best at this price: less work would gain them less than rank r loses. The sum is never below the truth.
  bool enough(double seconds) const {
    double sum = 0, wait = 0;
    for (std::size_t r = 0; r < curves_.size() && sum < 1; ++r) {
      const double limit = (seconds - wait) / micro_batches_;
      if (limit <= 0) break;
      sum += curves_[r].share(limit);
      const double later = static_cast<double>(curves_.size() - 1 - r);
      wait += fill_.whole_ranks ? curves_[r].best_time(limit, later / (micro_batches_ * least_))
                                : (r == 0 ? 0 : fill_.per_rank);
    }
    return sum >= 1;
  }

 private:
  PipelineFill fill_;
  double micro_batches_;
  std::vector<ShareCurve> curves_;  ///< [rank]
  double least_;
};

}  // namespace

double least_unlimited(double work, std::int64_t micro_batches, std::int64_t ranks,
                       const PipelineFill& fill) {
  const auto m = static_cast<double>(micro_batches), p = static_cast<double>(ranks);
  if (fill.whole_ranks) return m == 1 ? work : work / -std::expm1(p * std::log1p(-1 / m));
  return m * work / p + fill.per_rank * (p - 1) * std::max(0.0, p - 2) / (2 * p);  // the mean of all ranks
}

std::optional<double> least_limited(const FluidPipeline& pipeline, const PipelineFill& fill) {
  const SharedLayers layers(pipeline, fill);
  if (!layers.ever()) return {};
  const double work = std::ranges::min(pipeline.options, {}, &LayerOption::seconds).seconds;
  double below = least_unlimited(work, pipeline.micro_batches, pipeline.ranks, fill);
  double above = below;
  while (!layers.enough(above)) below = above, above *= 2;
  while (above - below > 1e-9 * below) {
    const double middle = (below + above) / 2;
    (layers.enough(middle) ? above : below) = middle;
  }
  return below;
}

double least_memory(const FluidPipeline& pipeline) {
  const double kept = std::ranges::min(pipeline.options, {}, &LayerOption::kept).kept;
  double shares = 0, taken = 0, most = 0;  // sum over ranks of (memory - fixed) / needed is at least 1
  for (std::int64_t r = 0; r < pipeline.ranks; ++r) {
    const double needed = pipeline.state + in_flight(pipeline, r) * kept;
    shares += 1 / needed;
    taken += fixed(pipeline, r) / needed;
    most = std::max(most, fixed(pipeline, r));
  }
  return std::max(most, (1 + taken) / shares);
}

}  // namespace penstock::score
