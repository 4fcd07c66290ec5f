#pragma once
// One declaration per planner; the catalogue lists them.

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

SearchResult graphpipe(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult graphpipe_rows(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult spp(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult dapple(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult alpa_inter(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult spp_luo(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);

}  // namespace penstock::planners
