#pragma once
// Minimum bandwidth between two halves of a set of devices.

#include <vector>

#include "penstock/core/stop.hpp"

namespace penstock::planners {

/// [a][b] symmetric, not negative; the diagonal is ignored.
using Weights = std::vector<std::vector<double>>;

struct MinimumCut {
  double weight = 0;
  std::vector<bool> side;  ///< [vertex]; vertex 0 is on the false side, neither side is empty
};

/// Exact, O(n^3), for two vertices or more (Stoer and Wagner, "A simple min-cut algorithm", JACM 1997). Ties:
/// the first cut found, which depends only on the numbering. Throws like `stop`.
MinimumCut minimum_cut(Weights weights, core::StopToken stop = {});

}  // namespace penstock::planners
