#pragma once
// One planner run: every micro-batch size, the best of them, or the reason why there is none.

#include <functional>

#include "bottleneck_search.hpp"
#include "penstock/planners/planner.hpp"

namespace penstock::planners {

enum class Structure {
  series_parallel,  ///< the series-parallel tree
  row,              ///< all operators in one row, stages forced to follow one another
  row_as_graph,     ///< partitioned as a row, but a stage waits only for the stages it reads from
};

/// The pinned size, or all powers of two that split the mini-batch into few enough passes; ascending. Throws
/// BadInput when the pinned size does not divide it, or none is left.
std::vector<std::int64_t> micro_batch_sizes(const cost::Problem& problem, const SearchOptions& options);

/// Whether a plan is as good as options.evaluate says, not as the planner's own formula.
inline bool by_evaluation(const SearchOptions& options) {
  return options.evaluate && !options.judge_by_estimate;
}

/// How good a plan is. One that a limit left no time to evaluate comes after all others, by its estimate.
struct Verdict {
  bool late = false;
  core::Seconds iteration;
  friend auto operator<=>(const Verdict&, const Verdict&) = default;
};
/// By options.evaluate where it counts, else the planner's own estimate.
Verdict judged(const SearchOptions& options, const plan::Plan& plan, core::Seconds estimate);

/// Calls body(i) for each i below `count` in parallel, each to its end or to a limit; false when one met a
/// limit.
bool until_limit(std::size_t count, const std::function<void(std::size_t)>& body);

/// GraphPipe's default (appendix A.2): one micro-batch size for all stages, all powers of two tried in
/// parallel, the best iteration time kept, over all structures given. The same bytes for any number of
/// threads.
SearchResult sweep(const cost::Problem& problem, const SearchOptions& options,
                   const std::vector<Structure>& structures, core::StopToken stop);

}  // namespace penstock::planners
