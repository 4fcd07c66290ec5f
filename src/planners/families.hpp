#pragma once
// One declaration per planner; the catalogue lists them.

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

SearchResult graphpipe(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult graphpipe_rows(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult graphpipe_climb(const cost::Problem& problem, const SearchOptions& options,
                             core::StopToken stop);
SearchResult pipedream(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult pipedream_2bw(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult spp(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult piper(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult piper_row(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult single_device(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult data_parallel(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult gpipe_equal(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult gpipe_memory(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult megatron(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult accpar(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult autopipe(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult aceso(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult exhaustive(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult dapple(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult alpa_inter(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult spp_luo(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult given(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);
SearchResult joint(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop);

const std::vector<PlannerOption>& climb_options();
const std::vector<PlannerOption>& joint_options();
const std::vector<PlannerOption>& pipedream_options();
const std::vector<PlannerOption>& pipedream_2bw_options();
const std::vector<PlannerOption>& piper_options();
const std::vector<PlannerOption>& exhaustive_options();
const std::vector<PlannerOption>& tensor_parallel_options();  ///< options of accpar
const std::vector<PlannerOption>& megatron_options();
const std::vector<PlannerOption>& aceso_options();
const std::vector<PlannerOption>& given_options();

}  // namespace penstock::planners
