// penstock compare PLAN...: plan files of one model next to each other.
#include "compare_plans.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/doubts.hpp"
#include "penstock/report/ranking.hpp"
#include "penstock/report/table.hpp"
#include "penstock/score/order.hpp"
#include "plan_input.hpp"

namespace penstock::cli {
namespace {

using report::CellResult;

/// A row whose planner is the plan's file. Throws BadInput, or an invalid-plan error.
CellResult row_of(const std::string& file, const PlanComparisonFlags& flags) {
  experiment::PlanInput input = read_plan(file, {}, flags.cluster, flags.costs);
  const cost::Problem problem = input.problem();
  experiment::complete(problem, input.plan, file);
  const plan::Plan& plan = input.plan;
  const auto outcome = experiment::evaluate(problem, score::scheduled(problem, plan),
                                            experiment::describe(problem, plan), flags.simulation, false);
  for (const std::string& doubt : experiment::doubts(problem, outcome)) warn(file + ": " + doubt);
  CellResult row = outcome.row;
  row.planner = file;
  return row;
}

/// Samples of one model are the same work.
void check_models(const std::vector<CellResult>& rows) {
  for (const CellResult& row : rows)
    if (row.model != rows.front().model)
      throw core::BadInput(
          fmt::format("{} is a plan of {}, {} of {}: only plans of one model can be compared",
                      rows.front().planner, rows.front().model, row.planner, row.model));
}

std::string plural(std::int64_t devices) {
  return devices == 1 ? "1 device" : fmt::format("{} devices", devices);
}

std::string table_of(const std::vector<CellResult>& rows, const report::ScreenLimits& screen) {
  using report::Align;
  // Cells that are equal in all rows leave a narrow screen first.
  const auto leaves = [&](const auto& of, int alike) {
    const auto differs = [&](const CellResult& row) { return of(row) != of(rows.front()); };
    return std::ranges::any_of(rows, differs) ? 9 : alike;
  };
  const auto where = [](const CellResult& row) {
    return fmt::format("{} of {}", plural(row.devices), row.cluster);
  };
  report::Table table(
      {{"plan"},
       {"samples/s", Align::right},
       {"iteration", Align::right},
       {"mini-batch", Align::right, leaves([](const CellResult& row) { return row.mini_batch; }, 3)},
       {.title = "strategy", .leaves = 10, .folds = true},
       {"on", Align::left, leaves(where, 4)},
       {"MFU", Align::right, 8},
       {"memory", Align::right, 9},
       {"gap", Align::right, 7}});
  const auto percent = [](const std::optional<double>& share) {
    return share ? fmt::format("{:.1f}%", *share * 100) : "-";
  };
  for (const CellResult& row : rows)
    table.add({row.planner, fmt::format("{:.1f}", *row.samples_per_s),
               core::show(core::Seconds(*row.iteration_s)), std::to_string(row.mini_batch), *row.strategy,
               where(row), percent(row.mfu), core::show(core::Bytes(*row.peak_memory_bytes)),
               percent(row.gap)});
  return table.text(screen);
}

}  // namespace

core::ExitCode compare_plans(const std::vector<std::string>& files, const PlanComparisonFlags& flags,
                             const CommandContext& session) {
  std::vector<CellResult> rows;
  for (const std::string& file : files) rows.push_back(row_of(file, flags));
  check_models(rows);
  rows = report::ranked(std::move(rows));
  if (flags.json) {
    print(report::to_json(rows, provenance(session)));
    return core::ExitCode::done;
  }
  const CellResult &best = rows.front(), &last = rows.back();
  const std::string verdict =
      rows.size() == 1 ? ""
                       : fmt::format("{} is the fastest: {:.3f} times as fast as {}\n", best.planner,
                                     *best.samples_per_s / *last.samples_per_s, last.planner);
  print_page(fmt::format("{}, simulated with the same costs\ncosts: {}\n\n{}{}", best.model, best.costs,
                         table_of(rows, flags.screen), verdict),
             flags.screen);
  return core::ExitCode::done;
}

}  // namespace penstock::cli
