#pragma once
// Micro-batch sizes that a planner tries.

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// Powers of two that divide the mini-batch, in samples, ascending: the default sizes of a search.
std::vector<std::int64_t> free_sizes(const cost::Problem& problem);

/// Sizes for planners whose replicas take whole micro-batches, ascending: the fixed size, or all free sizes
/// that split the mini-batch into few enough passes. Throws BadInput if the fixed size does not divide the
/// mini-batch, no size is left, or the fixed micro-batch is one that replicas split.
std::vector<std::int64_t> replica_sizes(const cost::Problem& problem, const SearchOptions& options,
                                        const char* planner);

/// Sizes for planners whose stages have `replicas` replicas each, which split every micro-batch; ascending.
/// Free sizes that leave each replica a sample, and free sizes times `replicas`; or the fixed size times
/// `replicas`, if that divides the mini-batch. Throws BadInput like replica_sizes.
std::vector<std::int64_t> shared_sizes(const cost::Problem& problem, const SearchOptions& options,
                                       int replicas);

/// A micro-batch that flows through all stages.
struct PipelineFlow {
  std::int64_t samples = 1;
  int replicas = 0;  ///< replicas of every stage; 0: the planner chooses
  bool allows(int count) const { return replicas == 0 || replicas == count; }
};

/// Replica counts up to `most`, ascending: powers of two, or all with any_degree.
std::vector<int> replica_counts(const SearchOptions& options, int most);

/// Free sizes to which a replica can be fixed: sizes for which some replica count splits the mini-batch into
/// few enough passes, with less compute than SearchOptions::give_up.
std::vector<std::int64_t> pinnable_sizes(const cost::Problem& problem, const SearchOptions& options);

/// Flows of a free search. `all_pins` adds the flows of every free size per replica, so that no search with a
/// fixed size beats a free one. `paper`: one flow per size, as in GraphPipe (appendix A.2).
enum class FreeFlows : std::uint8_t { all_pins, paper };

/// Flows in which each replica takes `per_replica` samples; `counts`: replica counts of the planner.
std::vector<PipelineFlow> pinned_flows(const cost::Problem& problem, SearchOptions options,
                                       const std::vector<int>& counts, std::int64_t per_replica);

/// All flows that a planner of such pipelines tries. The last is the largest that leaves replica counts to
/// the planner, or the largest fixed one. Throws BadInput like replica_sizes.
std::vector<PipelineFlow> flows(const cost::Problem& problem, const SearchOptions& options,
                                const std::vector<int>& counts, FreeFlows free);

/// Lower bound on the compute seconds of some device, in any plan whose replicas take `samples` at a time. It
/// is the compute of the mini-batch, divided evenly by all devices.
core::Seconds least_compute(const cost::Problem& problem, std::int64_t samples);

/// Option that selects the flows of a free search, and its parser.
inline constexpr const char* kChooseBy = "choose_by";
PlannerOption choose_by_option();
FreeFlows free_flows(const std::string& choose_by);

}  // namespace penstock::planners
