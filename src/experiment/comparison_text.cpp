// A comparison as text, data and picture, by any ranking.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "assumptions_json.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/compare.hpp"
#include "penstock/experiment/doubts.hpp"
#include "penstock/report/planner_chart.hpp"
#include "penstock/report/ranking.hpp"

namespace penstock::experiment {
namespace {

using core::show;

/// Returns a text such as "1.20 s", "312 MiB, too slow" or "$1.32 per million on 4".
std::string value_text(const report::CellResult& row, const AimResult& reached) {
  switch (reached.aim) {
    case SearchAim::memory:
      return show(core::Bytes(static_cast<std::int64_t>(reached.value))) +
             (too_slow(row, reached) ? ", too slow" : "");
    case SearchAim::cost:
      return fmt::format("{} per million on {}", show_dollars(reached.value * 1e6), row.devices);
    default:
      return show(core::Seconds(reached.value));
  }
}

std::vector<std::string> value_texts(const PlannerComparison& comparison) {
  std::vector<std::string> out;
  for (std::size_t r = 0; r < comparison.reached.size(); ++r)
    out.push_back(comparison.reached[r] ? value_text(comparison.rows[r], *comparison.reached[r]) : "-");
  return out;
}

bool same_plan(const plan::Plan& a, const plan::Plan& b) {
  return a.schedule == b.schedule && a.stages == b.stages;
}

/// Rows and cells of the aim, with one row for all planners that found the same plan. Estimates and searches
/// are those of the first of them.
struct MergedRows {
  std::vector<report::CellResult> rows;
  std::vector<std::string> values;
};

MergedRows merged(const PlannerComparison& comparison, const std::vector<std::string>& values) {
  MergedRows out;
  std::vector<const plan::Plan*> plans;
  for (std::size_t r = 0; r < comparison.rows.size(); ++r) {
    const report::CellResult& row = comparison.rows[r];
    const auto found = comparison.plans.find(row.planner);
    const plan::Plan* plan = found == comparison.plans.end() ? nullptr : &found->second;
    const auto earlier = std::ranges::find_if(plans, [&](const plan::Plan* other) {
      return plan != nullptr && other != nullptr && same_plan(*plan, *other);
    });
    const auto at = static_cast<std::size_t>(earlier - plans.begin());
    if (earlier != plans.end() && out.rows[at].status == row.status) {
      out.rows[at].planner += ", " + row.planner;
      continue;
    }
    out.rows.push_back(row);
    plans.push_back(plan);
    if (!values.empty()) out.values.push_back(values[r]);
  }
  return out;
}

std::string line_of(const std::string& text, std::string_view begin) {
  const auto at = text.find(begin);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

/// Header and one line of CSV, both with two more cells.
std::string csv_line(const report::CellResult& row, const std::string& more, bool header) {
  const std::string text = report::to_csv(std::span(&row, 1));
  const auto end = text.find('\n');
  return (header ? text.substr(0, end) + ",aim,aim_value\n" : "") +
         text.substr(end + 1, text.size() - end - 2) + more + "\n";
}

/// Plans without a flush are not equal to the others: their passes use weights of earlier updates.
std::string without_flush_line(const PlannerComparison& comparison) {
  std::vector<std::string> names;
  for (const report::CellResult& row : comparison.rows)
    if (const auto plan = comparison.plans.find(row.planner);
        plan != comparison.plans.end() && plan::asynchronous(plan->second))
      names.push_back(row.planner);
  if (names.empty()) return "";
  return fmt::format("without a flush, so passes use older weights: {}\n", fmt::join(names, ", "));
}

}  // namespace

std::string comparison_table(const PlannerComparison& comparison, const report::ScreenLimits& screen) {
  std::vector<std::string> values;
  if (comparison.aim != SearchAim::time) values = value_texts(comparison);
  MergedRows shown{comparison.rows, values};
  if (screen.columns > 0) shown = merged(comparison, values);
  std::optional<report::AimColumn> column;
  if (comparison.aim != SearchAim::time)
    column = {fmt::format("aim: {}", name(comparison.aim)), std::move(shown.values)};
  const std::string line = comparison.assumptions.empty() ? "" : in_words(comparison.assumptions) + "\n";
  return comparison.heading + line + report::ranking(shown.rows, screen, column) +
         (screen.columns > 0 ? without_flush_line(comparison) : "") +
         (comparison.bounds.empty() ? "" : "\n" + comparison.bounds) + in_lines(doubts(comparison.rows));
}

std::string comparison_csv(const PlannerComparison& comparison) {
  if (comparison.aim == SearchAim::time || comparison.rows.empty()) return report::to_csv(comparison.rows);
  std::string out;
  for (std::size_t r = 0; r < comparison.rows.size(); ++r) {
    const auto& reached = comparison.reached[r];
    out += csv_line(
        comparison.rows[r],
        fmt::format(",{},{}", name(comparison.aim), reached ? fmt::format("{}", reached->value) : ""),
        r == 0);
  }
  return out;
}

std::string comparison_json(const PlannerComparison& comparison, const report::Provenance& provenance) {
  std::string text = report::to_json(comparison.rows, provenance);
  const auto found = doubts(comparison.rows);
  if (comparison.aim == SearchAim::time && comparison.assumptions.empty() && found.empty()) return text;
  auto out = nlohmann::ordered_json::parse(text);
  if (!found.empty()) out["doubts"] = found;
  if (!comparison.assumptions.empty()) out["assumptions"] = to_json(comparison.assumptions);
  if (comparison.aim == SearchAim::time) return out.dump(2) + "\n";
  for (std::size_t r = 0; r < comparison.rows.size(); ++r) {
    auto& aim = out["results"][r]["aim"] = nullptr;
    if (const auto& reached = comparison.reached[r])
      aim = {{"name", name(reached->aim)}, {"value", reached->value}, {"words", reached->words}};
  }
  return out.dump(2) + "\n";
}

std::string comparison_svg(const PlannerComparison& comparison) {
  std::vector<report::PlannerBar> bars;
  for (const report::CellResult& row : comparison.rows)
    bars.push_back({row, planners::planner(planners::planner_choice(row.planner).name).unseen});
  const auto texts = value_texts(comparison);
  for (std::size_t r = 0; r < texts.size(); ++r)
    if (const auto& reached = comparison.reached[r])
      bars[r].aim = reached->value, bars[r].aim_words = texts[r];
  return report::planner_chart_svg(bars, comparison.heading.substr(0, comparison.heading.find('\n')),
                                   line_of(comparison.heading, "ranked by "));
}

}  // namespace penstock::experiment
