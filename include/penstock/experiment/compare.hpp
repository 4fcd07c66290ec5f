#pragma once
// Comparison of planners on one problem, with equal costs and the same simulator.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "penstock/experiment/aim.hpp"
#include "penstock/experiment/assumptions.hpp"
#include "penstock/report/lines.hpp"
#include "penstock/report/results.hpp"

namespace penstock::experiment {

/// Parses planners with commas between them and options behind colons, in the order given. "all" means the
/// whole catalogue and the added planners (planners::add_planner). Throws BadInput, with `what` at its start.
std::vector<planners::PlannerChoice> planner_choices(const std::string& text, const std::string& what);

/// Receivers of a comparison's progress; both are optional.
struct CompareProgress {
  std::function<void(const planners::PlannerChoice&)> begins;
  std::function<void(const report::CellResult&, std::size_t done, std::size_t all)> ends;
};

struct PlannerComparison {
  std::vector<report::CellResult> rows;  ///< best plan first
  std::string heading;                   ///< problem and objective, in words
  std::string bounds{};                  ///< lower bounds by what plans divide, a line each; "" when stopped
  bool interrupted = false;
  SearchAim aim = SearchAim::time;
  Assumptions assumptions{};
  /// [row] for objectives other than time; none without a plan.
  std::vector<std::optional<AimResult>> reached{};
  std::map<std::string, plan::Plan> plans{};  ///< [planner of a row] plan, for planners that found one
};

/// Runs one planner after the other, each on all threads; `cell` states everything except the planner. A
/// planner without a plan has its reason as status. When stopped: the rows so far.
///
/// Rows are sorted by throughput (report::ranked), or by the objective, ascending. Each planner searches for
/// the objective as in search_for. For memory only `joint` does; of other planners the fastest plan is ranked
/// by its memory. Plans slower than aim.slower above the fastest plan found come last; that limit comes from
/// plans with a flush, unless none has one.
/// Throws BadInput like check_aim, and if devices have no price or a perturbation is missing.
PlannerComparison compare(const cost::Problem& problem, Cell cell,
                          const std::vector<planners::PlannerChoice>& planners, const SearchSetting& setting,
                          core::StopToken stop, const CompareProgress& progress = {},
                          const AimSetting& aim = {});

/// True if a plan of little memory takes longer than allowed.
bool too_slow(const report::CellResult& row, const AimResult& reached);

/// Heading and table, with a column of the aim (report::ranking). On a screen that limits columns, planners
/// with the same plan share a row, which joins their names.
std::string comparison_table(const PlannerComparison& comparison, const report::ScreenLimits& screen = {});
/// Heading and table, with a column for the objective (report::ranking).
std::string comparison_csv(const PlannerComparison& comparison);
/// JSON as for results; a row has "aim" as in plan_json, null without a plan.
std::string comparison_json(const PlannerComparison& comparison, const report::Provenance& provenance);
/// Bar chart of what rows are ranked by (report::planner_chart_svg).
std::string comparison_svg(const PlannerComparison& comparison);

/// If no planner found a plan: exit code of the planner that came closest to one.
core::ExitCode exit_code(const PlannerComparison& comparison);

}  // namespace penstock::experiment
