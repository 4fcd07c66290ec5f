#pragma once
// One planner run: every micro-batch size, the best of them, or the reason why there is none.

#include <functional>
#include <limits>

#include "flow_order.hpp"
#include "graphpipe/bottleneck_search.hpp"
#include "micro_batches.hpp"
#include "penstock/planners/planner.hpp"

namespace penstock::planners {

enum class Structure {
  series_parallel,  ///< the series-parallel tree
  row,              ///< all operators in one row, stages forced to follow one another
  row_as_graph,     ///< partitioned as a row, but a stage waits only for the stages it reads from
};

/// Whether a plan is as good as options.evaluate says, not as the planner's own formula.
inline bool by_evaluation(const SearchOptions& options) {
  return options.evaluate && !options.judge_by_estimate;
}

/// The simulator counts whole picoseconds.
inline constexpr core::Seconds kTick(1e-12);

/// By options.evaluate. One that takes longer than `to_beat` may get any time above it, which spares most of
/// the evaluation.
core::Seconds evaluated(const SearchOptions& options, const plan::Plan& plan, core::Seconds to_beat);

/// Likewise, for searches that gain nothing by a plan as fast as `to_beat`: it may get any time not below.
core::Seconds evaluated_to_win(const SearchOptions& options, const plan::Plan& plan, core::Seconds to_beat);

/// How good a plan is. One that a limit left no time to evaluate comes after all others, by its estimate.
struct Verdict {
  bool late = false;
  core::Seconds iteration;
  friend auto operator<=>(const Verdict&, const Verdict&) = default;
};
/// By options.evaluate where it counts, else the planner's own estimate. One that takes longer than `to_beat`
/// may get any time above it.
Verdict judged(const SearchOptions& options, const plan::Plan& plan, core::Seconds estimate,
               core::Seconds to_beat = core::Seconds(std::numeric_limits<double>::infinity()));

/// What options.evaluate does not fall below, for little work; zero where nothing is known, or an estimate
/// counts.
core::Seconds evaluated_at_least(const SearchOptions& options, const plan::Plan& plan);

/// Throws Infeasible: what is left has a device that computes as long as SearchOptions::give_up.
[[noreturn]] void nothing_within(const char* planner, core::Seconds give_up);

/// Calls body(i) for each i below `count` in parallel, begun in order, each to its end or to a limit; false
/// when one met a limit.
bool until_limit(std::size_t count, const std::function<void(std::size_t)>& body);

/// The options of graphpipe, graphpipe_rows and spp, and of graphpipe_climb's sweeps.
const std::vector<PlannerOption>& sweep_options();

/// GraphPipe's default (appendix A.2): one micro-batch size for all stages, all powers of two tried in
/// parallel, the best iteration time kept, over all structures given. The same bytes for any number of
/// threads. `planner`: its name, for what options.own says wrongly.
SearchResult sweep(const char* planner, const cost::Problem& problem, const SearchOptions& options,
                   const std::vector<Structure>& structures, core::StopToken stop);

}  // namespace penstock::planners
