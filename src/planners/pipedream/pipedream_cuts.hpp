#pragma once
// A problem as a row of PipeDream's cuts, and the operators between cuts.

#include "penstock/cost/problem.hpp"
#include "pipedream/pipedream_states.hpp"
#include "units.hpp"

namespace penstock::planners {

/// The planning units are the layers. Exact up to `kMostCuts` antichain states; a model with more is cut
/// along one row of its units. Units that the first source does not reach join the last cut.
class ProblemCuts {
 public:
  static constexpr std::size_t kMostCuts = 2048;

  explicit ProblemCuts(const cost::Problem& problem, core::StopToken stop = {});

  /// States for micro-batches of this many samples, on the slowest device type; bytes as sent
  /// (plan::Compression).
  std::vector<CutState> weighed(std::int64_t samples) const;
  std::size_t size() const { return states_.size(); }
  /// Operators done in cut `last` but not before cut `first`; ascending.
  std::vector<core::OpId> operators(std::size_t first, std::size_t last) const;

 private:
  LayerGraph layers(std::int64_t samples) const;
  const cost::Problem& problem_;
  UnitGraph units_;
  std::vector<CutState> states_;
};

}  // namespace penstock::planners
