#pragma once
// Which micro-batch sizes a planner tries.

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// Powers of two that divide the mini-batch, in samples, ascending: what a search tries where nothing is
/// pinned.
std::vector<std::int64_t> free_sizes(const cost::Problem& problem);

/// Sizes for planners whose replicas take whole micro-batches: the pinned size, or all free sizes that split
/// the mini-batch into few enough passes; ascending. Throws BadInput when the pinned size does not divide the
/// mini-batch, no size is left, or the pinned micro-batch is one that replicas split.
std::vector<std::int64_t> replica_sizes(const cost::Problem& problem, const SearchOptions& options,
                                        const char* planner);

/// Sizes for planners whose stages have `replicas` replicas each, which split every micro-batch: free sizes
/// that leave a replica a sample, and free sizes times `replicas`; a pinned size times `replicas`, if that
/// divides the mini-batch; ascending. Throws BadInput as replica_sizes does.
std::vector<std::int64_t> shared_sizes(const cost::Problem& problem, const SearchOptions& options,
                                       int replicas);

/// A micro-batch that flows through all stages.
struct Flow {
  std::int64_t samples = 1;
  int replicas = 0;  ///< of every stage; 0: the planner chooses
  bool allows(int count) const { return replicas == 0 || replicas == count; }
};

/// Replica counts up to `most`, ascending: powers of two, or all with any_degree.
std::vector<int> replica_counts(const SearchOptions& options, int most);

/// Free sizes that a replica can be pinned to: sizes with some replica count that splits the mini-batch into
/// few enough passes, and less compute than SearchOptions::give_up.
std::vector<std::int64_t> pinnable_sizes(const cost::Problem& problem, const SearchOptions& options);

/// Flows of a free search. `all_pins` adds the flows of every free size that a replica could be pinned to, so
/// that no pinned search beats a free one. `paper`: one flow per size, as GraphPipe (appendix A.2) tries.
enum class FreeFlows : std::uint8_t { all_pins, paper };

/// Flows where each replica takes `per_replica` samples; `counts`: replica counts that the planner knows.
std::vector<Flow> pinned_flows(const cost::Problem& problem, SearchOptions options,
                               const std::vector<int>& counts, std::int64_t per_replica);

/// All flows that a planner of such pipelines tries; the last is the largest that leaves replicas to the
/// planner, or the largest pinned one. Throws BadInput as replica_sizes does.
std::vector<Flow> flows(const cost::Problem& problem, const SearchOptions& options,
                        const std::vector<int>& counts, FreeFlows free);

/// Least seconds that some device computes for, in any plan whose replicas take `samples` at a time: the
/// compute of the mini-batch, spread evenly over all devices.
core::Seconds least_compute(const cost::Problem& problem, std::int64_t samples);

/// The option of planners with flows that says which of them a free search tries, and what its word means.
inline constexpr const char* kChooseBy = "choose_by";
PlannerOption choose_by_option();
FreeFlows free_flows(const std::string& choose_by);

}  // namespace penstock::planners
