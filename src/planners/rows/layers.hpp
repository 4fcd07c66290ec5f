#pragma once
// The operators as one row of layers, between which a planner of sequential pipelines may cut.

#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/cost/problem.hpp"

namespace penstock::planners {

/// Sums over the layers before each cut, in integer picoseconds: those of a range are exact differences.
struct PassSums {
  std::vector<std::int64_t> forward, backward;  ///< [cut]
  core::Seconds forward_of(int begin, int end) const { return of(forward, begin, end); }
  core::Seconds backward_of(int begin, int end) const { return of(backward, begin, end); }
  core::Seconds of(int begin, int end) const { return forward_of(begin, end) + backward_of(begin, end); }

 private:
  static core::Seconds of(const std::vector<std::int64_t>& sums, int begin, int end) {
    return to_seconds(
        core::Picoseconds(sums[static_cast<std::size_t>(end)] - sums[static_cast<std::size_t>(begin)]));
  }
};

/// Planning units in their own order, one layer each. More than `most` are first clustered, as in Alpa (Zheng
/// et al., OSDI 2022, section 5.2): no layer has more than twice the mean work unless it is a single unit.
/// The largest tensor between layers is minimal, and among such clusterings works are the most even.
class PlanningLayers {
 public:
  /// `largest`: samples of the largest micro-batch. Throws BadInput naming an operator that takes too long,
  /// and like `stop`.
  PlanningLayers(const cost::Problem& problem, int most, std::int64_t largest, core::StopToken stop);

  int size() const { return static_cast<int>(operators_.size()); }
  /// Operators of layers [begin, end), ascending.
  std::vector<core::OpId> operators(int begin, int end) const;
  const cost::StageLoad& load(int begin, int end) const { return loads_[index(begin, end)]; }
  /// Bytes per sample that cross a cut, if every stage passes on what later ones read.
  core::Bytes crossing(int cut) const { return load(0, cut).outputs; }
  PassSums passes(const cluster::DeviceType& type, std::int64_t samples) const;
  /// Number of micro-batches of `samples` each that a device with this memory holds at once; at most `most`.
  int room(int begin, int end, std::int64_t samples, core::Bytes memory, int most) const;
  /// Index of a range in a table of all ranges.
  std::size_t index(int begin, int end) const { return static_cast<std::size_t>(begin * (size() + 1) + end); }
  std::size_t ranges() const { return index(size(), size()) + 1; }

 private:
  const cost::Problem& problem_;
  std::vector<std::vector<core::OpId>> operators_;  ///< [layer]
  std::vector<cost::StageLoad> loads_;              ///< [index]
};

/// Ends of at most `most` clusters of consecutive items. `crossing[c]` crosses the cut in front of item c.
std::vector<int> cluster_row(const std::vector<double>& work, const std::vector<double>& crossing, int most,
                             core::StopToken stop = {});

}  // namespace penstock::planners
