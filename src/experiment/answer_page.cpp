#include "penstock/experiment/answer_page.hpp"

#include <fmt/format.h>

#include <cctype>
#include <optional>
#include <sstream>

#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/doubts.hpp"
#include "penstock/experiment/page_cells.hpp"

namespace penstock::experiment {
namespace {

std::string title_of_answer(const cost::Problem& problem, const report::CellResult& row,
                            std::string_view what) {
  const std::size_t devices = problem.cluster.size();
  return fmt::format("Penstock: {} for {} on {} device{} of {}, mini-batch {}", what, row.model, devices,
                     devices == 1 ? "" : "s", row.cluster, row.mini_batch);
}

/// Turns each line into a sentence.
std::string in_sentences(const std::string& text) {
  std::istringstream lines(text);
  std::string out, line;
  while (std::getline(lines, line)) {
    if (line.empty()) continue;
    line.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(line.front())));
    out += (out.empty() ? "" : " ") + line + ".";
  }
  return out;
}

/// Removes the first line, which the title repeats.
std::string behind_first_line(const std::string& heading) {
  const auto end = heading.find('\n');
  return end == heading.npos ? "" : heading.substr(end + 1);
}

/// Describes the best of several plans.
std::string best_words(const report::CellResult& row) {
  return fmt::format("{}: {:.1f} samples/s, {} per iteration, {} on the fullest device.", *row.strategy,
                     *row.samples_per_s, core::show(core::Seconds(*row.iteration_s)),
                     core::show(core::Bytes(*row.peak_memory_bytes)));
}

/// Drawings of a row's plan, on the first devices of the cluster if it leaves others unused.
report::PageCell cell_of(const cost::Problem& problem, const plan::Plan& plan,
                         const sim::SimulationOptions& simulation, const report::CellResult& row) {
  const auto used = static_cast<std::size_t>(row.devices);
  std::optional<cluster::Cluster> first;
  if (used < problem.cluster.size()) first = problem.cluster.first(static_cast<int>(used));
  const cost::Problem part{problem.graph, first ? *first : problem.cluster, problem.costs, problem.training,
                           problem.memory};
  return page_cell(part, plan, simulation, row);
}

/// Adds the next best plans as rows.
void add_others(const cost::Problem& problem, const CellOutcome& found,
                const sim::SimulationOptions& simulation, report::Page& page) {
  if (found.others.empty()) return;
  page.winner = best_words(found.row);
  for (const CellOutcome& other : found.others) {
    report::CellResult row = other.row;
    row.planner = fmt::format("{}, next best {}", row.planner, page.results.rows.size());
    page.cells.push_back(cell_of(problem, *other.plan, simulation, row));
    page.results.rows.push_back(std::move(row));
  }
}

}  // namespace

report::Page plan_page(const cost::Problem& problem, const AimedPlan& found,
                       const sim::SimulationOptions& simulation, const report::Provenance& provenance,
                       const std::string& assumed) {
  const report::CellResult& row = found.outcome.row;
  report::Page out{title_of_answer(problem, row, "a plan"), {{row}, provenance}, {}, {}};
  const std::string ground = row.costs == "analytic" ? "" : "costs: " + row.costs + "\n";
  out.summary = in_sentences(found.reached.words + "\n" + ground + assumed);
  out.cells = {cell_of(problem, *found.outcome.plan, simulation, row)};
  add_others(problem, found.outcome, simulation, out);
  out.warnings = doubts(problem, found.outcome);
  return out;
}

report::Page comparison_page(const cost::Problem& problem, const PlannerComparison& comparison,
                             const sim::SimulationOptions& simulation, const report::Provenance& provenance) {
  const auto& rows = comparison.rows;
  report::Page out{
      rows.empty() ? "Penstock: a comparison" : title_of_answer(problem, rows.front(), "planners"),
      {rows, provenance},
      std::vector<report::PageCell>(rows.size()),
      {}};
  out.summary = in_sentences(behind_first_line(comparison.heading) + comparison.bounds +
                             (comparison.assumptions.empty() ? "" : "\n" + in_words(comparison.assumptions)));
  if (!comparison.reached.empty() && comparison.reached.front())
    out.winner = fmt::format("{} is first by {}: {}.", rows.front().planner, name(comparison.aim),
                             comparison.reached.front()->words);
  std::size_t bytes = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto plan = comparison.plans.find(rows[r].planner);
    if (plan == comparison.plans.end()) continue;
    out.cells[r] = bytes > kMostBytesOfPage ? report::PageCell{"", kNoRoom}
                                            : cell_of(problem, plan->second, simulation, rows[r]);
    bytes += out.cells[r].data.size();
  }
  out.warnings = doubts(rows);
  return out;
}

}  // namespace penstock::experiment
