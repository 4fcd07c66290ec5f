#pragma once
// Tables of PipeDream's search for the intervals of one level.

#include <limits>
#include <vector>

#include "pipedream/pipedream_states.hpp"

namespace penstock::planners {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// Entries (last, first) with first <= last; rows of one `last` are contiguous.
class TriangleTable {
 public:
  TriangleTable() = default;
  explicit TriangleTable(std::size_t size) : values_(size * (size + 1) / 2, kNever) {}
  double* row(std::size_t last) { return values_.data() + last * (last + 1) / 2; }
  const double* row(std::size_t last) const { return values_.data() + last * (last + 1) / 2; }

 private:
  std::vector<double> values_;
};

/// Prefix sums over the cuts, and the order of cuts.
struct CutRow {
  explicit CutRow(const std::vector<CutState>& states);
  std::size_t size() const { return weights.size(); }
  /// Weights of the layers between cut first - 1 and cut last.
  double weights_of(std::size_t first, std::size_t last) const {
    return first == 0 ? weights[last] : weights[last] - weights[first - 1];
  }

  std::vector<double> weights, output;
  std::vector<double> most_weights;  ///< [i] maximum sum of weights of cuts up to i
  std::vector<LayerSet> before;      ///< [j] cuts from which j is reached
};

/// Compute seconds of a machine of this level, for every interval.
struct IntervalTimes {
  TriangleTable whole;     ///< any interval
  TriangleTable stage;     ///< intervals between a cut and one it leads to; kNever for others
  TriangleTable at_least;  ///< minimum of `stage` over all starts up to this one
};
/// Times of the innermost level: differences of sums.
TriangleTable layer_times(const std::vector<CutState>& states);
/// Entry (j, 0) of `stage` and `at_least` has no cut before it and is never used.
IntervalTimes interval_times(const CutRow& cuts, TriangleTable whole);

}  // namespace penstock::planners
