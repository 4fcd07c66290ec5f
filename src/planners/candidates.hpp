#pragma once
// Finished plans in a race: the fastest that fits wins.

#include <optional>
#include <vector>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

struct Candidate {
  std::optional<plan::Plan> plan;
  std::optional<double> seconds;  ///< nothing: invalid, or not judged
  bool late = true;               ///< the deadline came first
};

/// Whether a plan whose task order is valid by construction, a lone stage or an even row, keeps the other
/// rules and fits. Making the order of every candidate would take as long as it has passes.
bool fits(const cost::Problem& problem, const plan::Plan& plan);
/// What the fullest device of a plan needs.
core::Bytes fullest_need(const cost::Problem& problem, const plan::Plan& plan);
/// Throws Infeasible saying what of this plan does not fit.
[[noreturn]] void fail_on(const cost::Problem& problem, const plan::Plan& plan);

/// Evaluates the `most` fastest candidates of each micro-batch size with options.evaluate and drops the rest.
/// Returns false if a limit ended it early. Candidates that options.at_least shows to be slower are not
/// evaluated. If none was evaluated in time, all keep their seconds; candidates that were all equal are late.
bool evaluate_leading(std::vector<Candidate>& found, const SearchOptions& options, std::size_t most,
                      core::StopToken stop);

/// The fastest, the first of equals. Throws LimitHit where a limit left none, else Infeasible with the
/// violation of the plan that needs least memory.
Candidate& winner(const cost::Problem& problem, std::vector<Candidate>& found, core::StopToken stop);
bool in_time(const std::vector<Candidate>& found);

}  // namespace penstock::planners
