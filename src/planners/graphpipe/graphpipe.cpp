#include "families.hpp"
#include "sweep.hpp"

namespace penstock::planners {

// Jeon et al., "GraphPipe: Improving Performance and Scalability of DNN Training with Graph Pipeline
// Parallelism", ASPLOS 2025. The optimizer was never published; Partition says where ours differs from the
// listing.
SearchResult graphpipe(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  return sweep("graphpipe", problem, options, {Structure::series_parallel}, stop);
}

// Ours. GraphPipe's space has no stage that holds parts of two branches, so it lacks some sequential plans;
// run as a graph, where a stage waits only for what it reads, such a plan is never slower on paper than in
// its forced order.
SearchResult graphpipe_rows(const cost::Problem& problem, const SearchOptions& options,
                            core::StopToken stop) {
  return sweep("graphpipe_rows", problem, options, {Structure::series_parallel, Structure::row_as_graph},
               stop);
}

}  // namespace penstock::planners
