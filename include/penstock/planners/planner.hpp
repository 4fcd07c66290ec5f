#pragma once
// The seam of every planner: a pure function from a problem to a plan.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/cost/problem.hpp"

namespace penstock::planners {

/// Choices a user may make; the defaults are those of the GraphPipe paper's evaluation.
struct SearchOptions {
  std::optional<std::int64_t> micro_batch;  ///< pinned size for all stages; default: all powers of two are tried
  bool per_stage_micro_batch = false;       ///< every stage chooses its own power of two
  int k = 1;                                ///< kFkB for all stages
  bool any_degree = false;                  ///< replica counts of any size, not only powers of two
  /// Most devices that run a replica of a stage together, for planners that try tensor parallelism, by powers of two;
  /// default: as many as a node has. 1: none do.
  std::optional<int> max_tensor_parallel;
  /// Seconds of one iteration of a finished plan: by which the best micro-batch size is chosen, and with k > 1 the
  /// in-flight counts are tightened. Handing in the simulator is how simulated time is optimised. Must be callable
  /// from any thread; may throw TimedOut. Default: score::estimate, and the in-flight rule.
  std::function<core::Seconds(const plan::Plan&)> evaluate;
  bool judge_by_estimate = false;  ///< choose micro-batch sizes by score::estimate even where `evaluate` is given
};

struct SearchResult {
  plan::Plan plan;             ///< valid by construction; callers still ask score::faults
  double bottleneck = 0;       ///< seconds per sample of the slowest stage, the planner's objective
  std::uint64_t states = 0;    ///< table rows, states or cells computed
  std::optional<core::Seconds> estimate{};  ///< the iteration time the planner itself predicts; none: score::estimate
  bool complete = true;  ///< false: the best plan found until the time limit
};

/// Throws Infeasible naming the obstacle when no plan fits, BadInput when the options contradict the problem,
/// Interrupted when stopped. At the token's deadline: the best plan so far, not complete, or TimedOut when there is none.
/// Deterministic for any thread count, if complete. Fills in stages, schedule, training; the caller
/// names model and cluster.
using PlannerFunction = SearchResult (*)(const cost::Problem&, const SearchOptions&, core::StopToken);

struct PlannerInfo {
  std::string name;
  std::string summary;  ///< one line
  std::string source;   ///< paper, and how ours differs
  PlannerFunction plan;
};

/// Every planner, in the order reports list them.
const std::vector<PlannerInfo>& catalogue();
/// Throws BadInput for an unknown name, with a hint.
const PlannerInfo& planner(std::string_view name);

}  // namespace penstock::planners
