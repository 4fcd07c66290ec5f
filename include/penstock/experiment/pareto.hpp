#pragma once
// Pareto front of plans: time, memory, devices and cost, between which the user chooses.

#include <functional>
#include <string>
#include <vector>

#include "penstock/experiment/aim.hpp"
#include "penstock/report/lines.hpp"

namespace penstock::experiment {

struct ParetoPlan {
  CellOutcome outcome;
  std::optional<double> dollars;  ///< per sample; none if a device has no price
  bool front = false;             ///< no other plan found dominates it
};

struct ParetoPlans {
  std::vector<ParetoPlan> plans;  ///< fewest devices first, then the fastest first
  bool complete = true;           ///< false: a limit ended the search
  bool interrupted = false;       ///< that limit was StopToken::ended
};

/// Searches with cell.planner, which must be `joint`, on all devices and on the first 1, 2, 4, ... of them.
/// Finds the fastest plan, then the minimum memory among plans at most 5, 10, 25, 50 and 100 % slower, each
/// search from the plan before. The front has the plans that no other dominates in iteration time, memory of
/// the fullest device, devices, and dollars per sample (report::pareto_front). `told` receives every plan
/// found. Device counts on which nothing fits are skipped. Throws like `search` if nothing fits at all,
/// BadInput for another planner.
ParetoPlans pareto_search(const cost::Problem& problem, const Cell& cell, SearchSetting setting,
                          core::StopToken stop,
                          const std::function<void(const report::CellResult&)>& told = {});

/// Maximum number of plans that a search on this many devices may find.
std::size_t most_pareto_plans(std::size_t devices);

/// Table of the front's plans, numbered from 1.
std::string pareto_table(const ParetoPlans& found, const report::ScreenLimits& screen = {});
/// Picture of all plans found (report::pareto_svg), with the same numbers.
std::string pareto_picture(const ParetoPlans& found);

}  // namespace penstock::experiment
