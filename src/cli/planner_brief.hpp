#pragma once
// A planner in one line of 80 columns.

#include <string_view>

namespace penstock::cli {

struct PlannerBrief {
  const char* idea;    ///< at most 31 characters
  const char* limits;  ///< at most 30 characters: the main ones
};

/// Of a planner of the catalogue; throws an internal error for another name.
PlannerBrief planner_brief(std::string_view name);

}  // namespace penstock::cli
