#pragma once
// Planners on one problem: same costs, same simulator.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "penstock/experiment/aim.hpp"
#include "penstock/experiment/assumptions.hpp"
#include "penstock/report/lines.hpp"
#include "penstock/report/results.hpp"

namespace penstock::experiment {

/// Planners in the order given, from names with commas between and a planner's options behind colons; "all"
/// stands for the whole catalogue and the planners that were added (planners::add_planner). Throws BadInput,
/// which begins with `what`.
std::vector<planners::PlannerChoice> planner_choices(const std::string& text, const std::string& what);

/// Who is told how far a comparison is; neither needs to be there.
struct CompareProgress {
  std::function<void(const planners::PlannerChoice&)> begins;
  std::function<void(const report::CellResult&, std::size_t done, std::size_t all)> ends;
};

struct Comparison {
  std::vector<report::CellResult> rows;  ///< the best plan first
  std::string heading;  ///< in words: the problem, what no plan beats, by what plans divide, and the aim
  bool interrupted = false;
  Aim aim = Aim::time;
  Assumptions assumptions{};
  std::vector<std::optional<Reached>> reached{};  ///< [row], of another aim than time; none without a plan
  std::map<std::string, plan::Plan> plans{};      ///< [planner of a row], of those that found one
};

/// One planner after the other, each on all threads; `cell` says all but the planner. One that finds no plan,
/// or cannot take the problem, has its reason as status. When stopped: the rows until then.
///
/// By throughput (report::ranked), or by what the aim makes least, rising. Each planner is asked for the aim,
/// as search_for is; only `joint` searches for memory: of the others the fastest plan is ranked by its
/// memory. Plans that take longer than aim.slower above the fastest found come behind those that do not; a
/// plan without a flush sets that limit only where none has one.
/// Throws BadInput where check_aim does, and where devices have no price or a perturbation is missing.
Comparison compare(const cost::Problem& problem, Cell cell,
                   const std::vector<planners::PlannerChoice>& planners, const SearchSetting& setting,
                   core::StopToken stop, const CompareProgress& progress = {}, const AimSetting& aim = {});

/// Whether a plan of little memory takes longer than it may.
bool too_slow(const report::CellResult& row, const Reached& reached);

/// Heading and table, with a column of the aim (report::ranking).
std::string comparison_table(const Comparison& comparison, const report::Screen& screen = {});
/// As of results, with two more columns where there is an aim: its name and the row's value.
std::string comparison_csv(const Comparison& comparison);
/// As of results; a row has "aim" as in plan_json, null without a plan.
std::string comparison_json(const Comparison& comparison, const report::Provenance& provenance);
/// The rows as bars of what they are ranked by (report::planner_chart_svg).
std::string comparison_svg(const Comparison& comparison);

/// Where no planner found a plan, what a search by that one of them says which came closest to one.
core::ExitCode exit_code(const Comparison& comparison);

}  // namespace penstock::experiment
