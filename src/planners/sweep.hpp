#pragma once
// One planner run: every micro-batch size, the best of them, or the reason why there is none.

#include <functional>
#include <limits>

#include "flow_order.hpp"
#include "graphpipe/bottleneck_search.hpp"
#include "micro_batches.hpp"
#include "penstock/planners/planner.hpp"

namespace penstock::planners {

enum class UnitStructure {
  series_parallel,  ///< the series-parallel tree
  row,              ///< all operators in one row; each stage waits for the one before
  row_as_graph,     ///< Partitioned as a row, but a stage waits only for the stages it reads from.
};

/// True if options.evaluate decides between plans, and not the planner's own formula.
inline bool by_evaluation(const SearchOptions& options) {
  return options.evaluate && !options.judge_by_estimate;
}

/// Resolution of the simulator, which counts whole picoseconds.
inline constexpr core::Seconds kTick(1e-12);

/// Time by options.evaluate. A plan slower than `to_beat` may get any time above it, which saves most of the
/// evaluation.
core::Seconds evaluated(const SearchOptions& options, const plan::Plan& plan, core::Seconds to_beat);

/// Like `evaluated`, for searches in which a tie does not win: a plan not faster than `to_beat` may get any
/// time not below it.
core::Seconds evaluated_to_win(const SearchOptions& options, const plan::Plan& plan, core::Seconds to_beat);

/// Score of a plan. A plan that a limit left no time to evaluate comes after all others, by its estimate.
struct PlanVerdict {
  bool late = false;
  core::Seconds iteration;
  friend auto operator<=>(const PlanVerdict&, const PlanVerdict&) = default;
};
/// Score by options.evaluate if that decides, otherwise by the planner's own estimate. A plan slower than
/// `to_beat` may get any time above it.
PlanVerdict judged(const SearchOptions& options, const plan::Plan& plan, core::Seconds estimate,
                   core::Seconds to_beat = core::Seconds(std::numeric_limits<double>::infinity()));

/// Fast lower bound on options.evaluate; zero if there is none, or if the estimate decides.
core::Seconds evaluated_at_least(const SearchOptions& options, const plan::Plan& plan);

/// Throws Infeasible: in every plan left, a device computes at least SearchOptions::give_up.
[[noreturn]] void nothing_within(const char* planner, core::Seconds give_up);

/// Calls body(i) for each i below `count` in parallel, begun in order, each to its end or to a limit; returns
/// false if one hit a limit.
bool until_limit(std::size_t count, const std::function<void(std::size_t)>& body);

/// Options of graphpipe, graphpipe_rows and spp, and of graphpipe_climb's sweeps.
const std::vector<PlannerOption>& sweep_options();

/// GraphPipe's default (appendix A.2): one micro-batch size for all stages, all powers of two tried in
/// parallel, the best iteration time kept, over all structures given. The result does not depend on the
/// number of threads. `planner`: its name, for errors about options.own.
SearchResult sweep(const char* planner, const cost::Problem& problem, const SearchOptions& options,
                   const std::vector<UnitStructure>& structures, core::StopToken stop);

}  // namespace penstock::planners
