#pragma once
// What planners of sequential pipelines share: every micro-batch size tried, the best kept, or why there is
// none.

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

/// Each stage waits for the one before it; in-flight counts are left to be filled in.
plan::Plan plan_in_row(const cost::Problem& problem, const Layers& layers,
                       const std::vector<RowStage>& stages, std::int64_t micro_batch, const char* schedule);

struct RowPlan {
  plan::Plan plan;
  double bottleneck = 0;   ///< seconds per micro-batch of the slowest stage
  core::Seconds estimate;  ///< of the iteration, by the planner's own formula
  Verdict verdict;         ///< what the choice goes by: `judged`
  bool complete = true;    ///< false: the best until a limit
};

/// What a planner is asked for at a time.
struct RowTrial {
  Flow flow;
  double memory = 1;  ///< factor on what devices have
  double give_up =
      std::numeric_limits<double>::infinity();  ///< plans that take as long (`judged`) need not be found
  const LeastSoFar* fastest = nullptr;          ///< of trials side by side, `judged`: slower plans neither

  /// What a plan may take.
  core::Seconds to_beat() const {
    const core::Seconds most(give_up);
    return fastest ? std::min(most, fastest->seconds()) : most;
  }
};
/// The planner's best plan; adds to `states`.
using RowPlanner =
    std::function<std::optional<RowPlan>(const Layers& layers, const RowTrial& trial, std::uint64_t& states)>;

/// The best of all micro-batch sizes, the same for any number of threads. `layers_at_most`: see Layers.
/// Throws BadInput for k > 1 and sizes per stage; Infeasible saying how much memory would do; at a limit the
/// best so far.
SearchResult search_row(const cost::Problem& problem, const SearchOptions& options, const char* name,
                        int layers_at_most, const RowPlanner& planner, core::StopToken stop);

/// The options of planners that search_row drives.
const std::vector<PlannerOption>& row_options();

}  // namespace penstock::planners
