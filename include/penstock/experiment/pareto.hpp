#pragma once
// Plans between which only a user can choose: time, memory, devices and money.

#include <functional>
#include <string>
#include <vector>

#include "penstock/experiment/aim.hpp"
#include "penstock/report/lines.hpp"

namespace penstock::experiment {

struct ParetoPlan {
  CellOutcome outcome;
  std::optional<double> dollars;  ///< per sample; none where a device has no price
  bool front = false;             ///< no other plan found beats it
};

struct ParetoPlans {
  std::vector<ParetoPlan> plans;  ///< fewest devices first, on as many the fastest first
  bool complete = true;           ///< false: a limit ended the search
  bool interrupted = false;       ///< that limit was StopToken::ended
};

/// Searches by cell.planner, which is `joint`, on all devices and on the first 1, 2, 4, ... of them: for the
/// fastest plan, then for the least memory among plans at most 5, 10, 25, 50 and 100 % slower, each search
/// from the plan before. Of iteration time, memory of the fullest device, devices, and dollars per sample
/// those plans are on the front that no other beats (report::pareto_front). `told` hears of every plan found.
/// Device counts on which nothing fits are passed over; throws as `search` where nothing fits at all,
/// BadInput for another planner.
ParetoPlans pareto_search(const cost::Problem& problem, const Cell& cell, SearchSetting setting,
                          core::StopToken stop,
                          const std::function<void(const report::CellResult&)>& told = {});

/// As many as a search on so many devices may find.
std::size_t most_pareto_plans(std::size_t devices);

/// The front's plans, numbered from 1.
std::string pareto_table(const ParetoPlans& found, const report::Screen& screen = {});
/// The picture of all plans found (report::pareto_svg), numbered likewise.
std::string pareto_picture(const ParetoPlans& found);

}  // namespace penstock::experiment
