#include "families.hpp"
#include "sweep.hpp"

namespace penstock::planners {

// Sequential pipeline parallelism as measured by GraphPipe's authors (their switch "is linearized"). The same
// partitioner runs on the operators in one row; stages must follow one another even without data flow.
SearchResult spp(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  return sweep("spp", problem, options, {UnitStructure::row}, stop);
}

}  // namespace penstock::planners
