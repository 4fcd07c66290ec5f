#include "penstock/experiment/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "penstock/core/quantity_text.hpp"
#include "penstock/report/planner_chart.hpp"
#include "penstock/report/ranking.hpp"
#include "penstock/score/problem_bound.hpp"

namespace penstock::experiment {
namespace {

using planners::PlannerChoice;
using Families = std::set<score::PlanFamily>;

/// A planner that cannot take the problem costs no other its row.
CellOutcome try_planner(const cost::Problem& problem, const Cell& cell, const SearchSetting& setting,
                        core::StopToken stop) {
  try {
    return try_search(problem, cell, setting, stop);
  } catch (const core::BadInput& e) {
    auto row = describe(problem, cell);
    row.status = std::string("bad input: ") + e.what();
    return {row, {}, {}, {}};
  }
}

/// What no plan of a family beats.
std::string family_bound_line(const cost::Problem& problem, score::PlanFamily family,
                              score::Reduction reduction) {
  try {
    const auto best = score::problem_bounds(problem, reduction, family).best();
    return fmt::format("no plan with a flush takes less than {} {} ({})\n", core::show(best.time),
                       name(family), name(best.kind));
  } catch (const core::Infeasible& e) {
    return fmt::format("no plan fits {}: {}\n", name(family), e.what());
  }
}

/// What the table is about, and what no plan beats, by what its plans divide.
std::string heading_of(const cost::Problem& problem, const Cell& cell,
                       const sim::SimulationOptions& simulation, const Families& families) {
  const auto row = describe(problem, cell);
  std::string what = fmt::format("{}, {} devices of {}, mini-batch {}\n", row.model, row.devices, row.cluster,
                                 row.mini_batch);
  if (row.costs != "analytic") what += "costs: " + row.costs + "\n";
  for (const score::PlanFamily family : families)
    what += family_bound_line(problem, family, reduction(simulation));
  return what + "\n";
}

}  // namespace

std::vector<PlannerChoice> planner_choices(const std::string& text, const std::string& what) {
  std::vector<PlannerChoice> out;
  const auto add = [&](const std::string& planner) {
    const PlannerChoice choice = planners::planner_choice(planner);
    if (std::find(out.begin(), out.end(), choice) != out.end())
      throw core::BadInput(what + ": " + planner + " is given twice");
    out.push_back(choice);
  };
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');)
    if (item != "all")
      add(item);
    else
      for (const auto& info : planners::catalogue())
        if (!info.states) add(info.name);
  if (out.empty()) throw core::BadInput(what + ": expected all, or names with commas between");
  return out;
}

Comparison compare(const cost::Problem& problem, Cell cell, const std::vector<PlannerChoice>& planners,
                   const SearchSetting& setting, core::StopToken stop, const CompareProgress& progress) {
  Comparison out;
  Families families{score::PlanFamily::replicated};  // of the plans found
  try {
    for (const PlannerChoice& planner : planners) {
      cell.planner = planner;
      if (progress.begins) progress.begins(planner);
      CellOutcome found = try_planner(problem, cell, setting, stop);
      if (found.plan) families.insert(score::family_of(*found.plan));
      out.rows.push_back(std::move(found.row));
      if (progress.ends) progress.ends(out.rows.back(), out.rows.size(), planners.size());
    }
  } catch (const core::Interrupted&) {
    out.interrupted = true;
  }
  out.rows = report::ranked(std::move(out.rows));
  out.heading = heading_of(problem, cell, setting.simulation, families);
  return out;
}

std::string comparison_svg(const Comparison& comparison) {
  std::vector<report::PlannerBar> bars;
  for (const report::CellResult& row : comparison.rows)
    bars.push_back({row, planners::planner(planners::planner_choice(row.planner).name).unseen});
  return report::planner_chart_svg(bars, comparison.heading.substr(0, comparison.heading.find('\n')));
}

core::ExitCode exit_code(const Comparison& comparison) {
  if (comparison.interrupted) return core::ExitCode::interrupted;
  const auto any = [&](auto&& holds) { return std::ranges::any_of(comparison.rows, holds); };
  const auto is = [](const char* kind) {
    return [kind](const report::CellResult& row) { return row.status.starts_with(kind); };
  };
  if (any([](const auto& row) { return row.iteration_s.has_value(); })) return core::ExitCode::done;
  if (any(is("timed out")) || any(is("memory full")) || any(is("limit"))) return core::ExitCode::limit;
  return any(is("bad input")) && !any(is("infeasible")) ? core::ExitCode::bad_input
                                                        : core::ExitCode::infeasible;
}

}  // namespace penstock::experiment
