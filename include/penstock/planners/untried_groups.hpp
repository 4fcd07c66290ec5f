#pragma once
// Groups of devices that would divide a mixture of experts, and that a planner tries only where asked.

#include <string>
#include <vector>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

struct UntriedGroups {
  std::string divided;  ///< "experts", "tokens"
  std::string option;   ///< of the planner, as in "max_expert_parallel=8"; empty: it has none
};

/// Groups that the model could be divided over on these devices, and that the planner as chosen leaves out.
/// Experts first. Empty without a mixture of experts, and for planners that are not of the catalogue.
std::vector<UntriedGroups> untried_groups(const cost::Problem& problem, const PlannerChoice& choice);

/// "not tried: groups that divide experts (option max_expert_parallel=8)"; empty where there are none.
std::string in_words(const std::vector<UntriedGroups>& untried);

}  // namespace penstock::planners
