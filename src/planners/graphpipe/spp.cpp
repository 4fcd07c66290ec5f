#include "families.hpp"
#include "sweep.hpp"

namespace penstock::planners {

// Sequential pipeline parallelism as GraphPipe's authors measured it (their switch "is linearized"): the same
// partitioner on the operators in one row, and stages forced to follow one another even where no data flows.
SearchResult spp(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  return sweep("spp", problem, options, {Structure::row}, stop);
}

}  // namespace penstock::planners
