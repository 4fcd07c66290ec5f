#pragma once
// Device groups that could divide a mixture of experts, and that a planner tries only on request.

#include <string>
#include <vector>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

struct UntriedGroups {
  std::string divided;  ///< "experts", "tokens"
  std::string option;   ///< option of the planner, such as "max_expert_parallel=8"; empty if it has none
};

/// Groups that could divide the model on these devices, and that the chosen planner does not try; experts
/// come first. Empty without a mixture of experts, and for added planners.
std::vector<UntriedGroups> untried_groups(const cost::Problem& problem, const PlannerChoice& choice);

/// Returns a text such as "not tried: groups that divide experts (option max_expert_parallel=8)"; empty if
/// there are none.
std::string in_words(const std::vector<UntriedGroups>& untried);

}  // namespace penstock::planners
