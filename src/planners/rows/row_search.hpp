#pragma once
// Search shared by planners of sequential pipelines: tries every micro-batch size and keeps the best plan, or
// explains why there is none.

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "least_so_far.hpp"
#include "penstock/planners/planner.hpp"
#include "rows/slice_costs.hpp"
#include "sweep.hpp"

namespace penstock::planners {

/// Layers [begin, end) on these devices, which split every micro-batch.
struct RowStage {
  int begin = 0, end = 0;
  std::vector<core::DeviceId> devices;
};

/// Builds a plan in which each stage waits for the one before it; in-flight counts are not set.
plan::Plan plan_in_row(const cost::Problem& problem, const PlanningLayers& layers,
                       const std::vector<RowStage>& stages, std::int64_t micro_batch, const char* schedule);

struct RowPlan {
  plan::Plan plan;
  double bottleneck = 0;   ///< seconds per micro-batch of the slowest stage
  core::Seconds estimate;  ///< of the iteration, by the planner's own formula
  PlanVerdict verdict;     ///< basis of the choice: `judged`
  bool complete = true;    ///< false: the best before a limit
};

/// One call of a planner.
struct RowTrial {
  PipelineFlow flow;
  double memory = 1;  ///< factor on the devices' memory
  /// Cutoff: plans that take at least this long (`judged`) may be missed.
  double give_up = std::numeric_limits<double>::infinity();
  /// Time of the fastest trial so far (`judged`): slower plans may be missed, too.
  const LeastSoFar* fastest = nullptr;

  /// Time that a plan must beat.
  core::Seconds to_beat() const {
    const core::Seconds most(give_up);
    return fastest ? std::min(most, fastest->seconds()) : most;
  }
};
/// Returns the planner's best plan; adds to `states`.
using RowPlanner = std::function<std::optional<RowPlan>(const PlanningLayers& layers, const RowTrial& trial,
                                                        std::uint64_t& states)>;

/// Returns the best plan over all micro-batch sizes, for any number of threads. `layers_at_most`: see Layers.
/// Throws BadInput for k > 1 and sizes per stage; Infeasible stating how much memory would suffice. At a
/// limit returns the best so far.
SearchResult search_row(const cost::Problem& problem, const SearchOptions& options, const char* name,
                        int layers_at_most, const RowPlanner& planner, core::StopToken stop);

/// Options of planners that use search_row.
const std::vector<PlannerOption>& row_options();

}  // namespace penstock::planners
