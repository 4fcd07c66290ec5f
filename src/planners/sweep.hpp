#pragma once
// One planner run: every micro-batch size, the best of them, or the reason why there is none.

#include "bottleneck_search.hpp"
#include "penstock/planners/planner.hpp"

namespace penstock::planners {

enum class Structure { series_parallel, row };

/// GraphPipe's default (appendix A.2): one micro-batch size for all stages, all powers of two tried in parallel, the
/// best iteration time kept. The same bytes for any number of threads.
SearchResult sweep(const cost::Problem& problem, const SearchOptions& options, Structure structure,
                   core::StopToken stop);

}  // namespace penstock::planners
