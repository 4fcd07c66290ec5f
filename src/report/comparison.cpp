#include "penstock/report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "penstock/report/table.hpp"
#include "search_note.hpp"
#include "short_models.hpp"
#include "shown.hpp"

namespace penstock::report {
namespace {

/// Key of a problem: everything except the planner.
About problem_of(const CellResult& row) {
  CellResult out = row;
  out.planner.clear();
  return about(out);
}

/// Throughput by problem, from the first row of each that has one.
using Baselines = std::map<About, double>;

Baselines baselines(std::span<const CellResult> rows, const std::string& planner) {
  Baselines out;
  for (const CellResult& row : rows)
    if (row.planner == planner && row.samples_per_s) out.emplace(problem_of(row), *row.samples_per_s);
  return out;
}

std::optional<double> ratio(const Baselines& bases, const CellResult& row, const std::string& baseline) {
  if (!row.samples_per_s || row.planner == baseline) return std::nullopt;
  const auto base = bases.find(problem_of(row));
  return base == bases.end() ? std::nullopt : std::optional(*row.samples_per_s / base->second);
}

/// Columns that only some tables have.
struct ExtraColumns {
  bool setting = false, tokens = false, measured = false;
  bool clusters = false;  ///< rows differ in it
  bool ratios = false;    ///< some row has one
};

/// Cells: problem, answer, its quality, then the search.
std::vector<std::string> cells(const CellResult& row, const std::string& model, const ExtraColumns& extra) {
  std::vector<std::string> out = {model, row.cluster, std::to_string(row.devices),
                                  std::to_string(row.mini_batch)};
  const auto add = [&out](std::string cell) { out.push_back(std::move(cell)); };
  if (extra.setting) add(row.setting);
  add(row.planner);
  add(row.samples_per_s ? shown::decimal(row.samples_per_s, 1) : shown::status(row));
  add(shown::times(row.ratio));
  add(shown::text(row.strategy));
  if (extra.tokens) add(shown::decimal(row.tokens_per_s, 0));
  add(shown::decimal(row.tflops_per_device, 2));
  add(shown::percent(row.mfu));
  add(shown::percent(row.bubble));
  add(shown::bytes(row.peak_memory_bytes));
  add(shown::percent(row.gap));
  add(shown::error(row.estimate_error));
  if (extra.measured) add(shown::time(row.search_s));
  return out;
}

std::vector<Column> columns(const ExtraColumns& extra) {
  const Align left = Align::left, right = Align::right;
  std::vector<Column> out = {{.title = "model", .folds = true},
                             {"cluster", left, extra.clusters ? 11 : 7},
                             {"GPUs", right},
                             {"mini-batch", right, 9}};
  if (extra.setting) out.push_back({.title = "setting", .folds = true});
  for (const Column& column : {Column{"planner"},
                               {"samples/s", right},
                               {"ratio", right, extra.ratios ? 10 : 1},
                               {"strategy", left, 0, true}})
    out.push_back(column);
  if (extra.tokens) out.push_back({"tokens/s", right, 2});
  for (const Column& column : {Column{"TFLOP/s/GPU", right, 3},
                               {"MFU", right, 6},
                               {"bubble", right, 5},
                               {"memory", right, 8},
                               {"gap", right, 4},
                               {"est. error", right, 1}})
    out.push_back(column);
  if (extra.measured) out.push_back({"search", right, 7});
  return out;
}

}  // namespace

void add_ratios(std::vector<CellResult>& rows, const std::string& baseline) {
  const Baselines bases = baselines(rows, baseline);
  for (CellResult& row : rows) row.ratio = ratio(bases, row, baseline);
}

std::string comparison(std::span<const CellResult> given, const std::string& baseline, bool measured,
                       const ScreenLimits& screen) {
  std::vector<CellResult> rows(given.begin(), given.end());
  add_ratios(rows, baseline);
  const ExtraColumns extra{
      shown::any_setting(rows), shown::any_tokens(rows), measured,
      std::ranges::any_of(rows, [&](const CellResult& row) { return row.cluster != rows.front().cluster; }),
      std::ranges::any_of(rows, [](const CellResult& row) { return row.ratio.has_value(); })};
  Table table(columns(extra));
  const ShortModels models = short_models(rows);
  const bool on_screen = screen.width > 0;  // files keep whole names, row by row
  for (std::size_t r = 0; r < rows.size(); ++r)
    table.add(cells(rows[r], on_screen ? models.names[r] : rows[r].model, extra));
  const auto best =
      std::ranges::max_element(rows, {}, [](const CellResult& row) { return row.ratio.value_or(0); });
  const bool any = best != rows.end() && best->ratio;
  std::string out = (on_screen ? models.common : "") + table.text(screen);
  if (any)
    out += fmt::format("\nLargest ratio: {} is {:.2f} times {} ({} on {} devices, mini-batch {}).\n",
                       best->planner, *best->ratio, baseline, best->model, best->devices, best->mini_batch);
  std::set<std::string> costs;
  for (const CellResult& row : rows)
    if (!row.costs.empty() && row.costs != "analytic") costs.insert(row.costs);
  for (const std::string& source : costs) out += fmt::format("{}Costs: {}.\n", any ? "" : "\n", source);
  if (measured && shared_cores(rows)) out += fmt::format("\n{}\n", kSharedCores);
  return out;
}

}  // namespace penstock::report
