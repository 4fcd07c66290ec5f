#include "families.hpp"
#include "sweep.hpp"

namespace penstock::planners {

// Jeon et al., "GraphPipe: Improving Performance and Scalability of DNN Training with Graph Pipeline
// Parallelism", ASPLOS 2025. The optimizer was never published; differences from the listing are stated at
// Partition.
SearchResult graphpipe(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  return sweep("graphpipe", problem, options, {UnitStructure::series_parallel}, stop);
}

// An addition of ours. GraphPipe's space has no stage with parts of two branches, so it lacks some sequential
// plans. Run as a graph, where a stage waits only for what it reads, such a plan is never slower by the
// estimate than in its forced order.
SearchResult graphpipe_rows(const cost::Problem& problem, const SearchOptions& options,
                            core::StopToken stop) {
  return sweep("graphpipe_rows", problem, options,
               {UnitStructure::series_parallel, UnitStructure::row_as_graph}, stop);
}

}  // namespace penstock::planners
