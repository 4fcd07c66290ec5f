#include "families.hpp"
#include "sweep.hpp"

namespace penstock::planners {

// Jeon et al., "GraphPipe: Improving Performance and Scalability of DNN Training with Graph Pipeline Parallelism",
// ASPLOS 2025. The optimizer was never published; Partition says where ours differs from the listing.
SearchResult graphpipe(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  return sweep(problem, options, Structure::series_parallel, stop);
}

}  // namespace penstock::planners
