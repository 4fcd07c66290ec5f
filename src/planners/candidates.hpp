#pragma once
// Finished plans as candidates: the fastest that fits wins.

#include <optional>
#include <vector>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

struct PlanCandidate {
  std::optional<plan::Plan> plan;
  std::optional<double> seconds;  ///< none: invalid, or not evaluated
  bool late = true;               ///< true: the deadline came first
};

/// True if a plan whose task order is valid by construction (a single stage or an even row) meets all other
/// rules and fits. Building the order of every candidate would take time proportional to its passes.
bool fits(const cost::Problem& problem, const plan::Plan& plan);
/// Bytes that the fullest device of a plan needs.
core::Bytes fullest_need(const cost::Problem& problem, const plan::Plan& plan);
/// Throws Infeasible with the reason why this plan does not fit.
[[noreturn]] void fail_on(const cost::Problem& problem, const plan::Plan& plan);

/// Evaluates the `most` fastest candidates of each micro-batch size with options.evaluate and drops the rest.
/// Returns false if a limit ended it early. Candidates that options.at_least shows to be slower are not
/// evaluated. If none was evaluated in time, all keep their seconds; candidates that were all equal are late.
bool evaluate_leading(std::vector<PlanCandidate>& found, const SearchOptions& options, std::size_t most,
                      core::StopToken stop);

/// Returns the fastest candidate, the first among equals. Throws LimitHit if a limit left none, otherwise
/// Infeasible with the violation of the plan that needs the least memory.
PlanCandidate& winner(const cost::Problem& problem, std::vector<PlanCandidate>& found, core::StopToken stop);
bool in_time(const std::vector<PlanCandidate>& found);

}  // namespace penstock::planners
