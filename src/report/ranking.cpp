#include "penstock/report/ranking.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/report/table.hpp"
#include "shown.hpp"

namespace penstock::report {
namespace {

constexpr std::size_t kMostNames = 44;  ///< cells of joined names; one name with options is shorter

std::vector<Column> columns(bool tokens, bool joined, const std::optional<AimColumn>& aim) {
  const Align right = Align::right;
  std::vector<Column> out = {{"planner"}};
  if (joined) out.front() = {.title = "planner", .folds = true, .most = kMostNames};
  if (aim) out.push_back({aim->title, right});
  out.push_back({"samples/s", right});
  out.push_back({.title = "strategy", .leaves = 10, .folds = true});
  if (tokens) out.push_back({"tokens/s", right, 3});
  for (const Column& column : {Column{"TFLOP/s/GPU", right, 4},
                               {"MFU", right, 8},
                               {"memory", right, 9},
                               {"estimated", right, 5},
                               {"simulated", right, 6},
                               {"est. error", right, 6},
                               {"gap", right, 7},
                               {"search", right, 6},
                               {"states", right, 1},
                               {"search memory", right, 2}})
    out.push_back(column);
  out.push_back({"status"});
  return out;
}

std::vector<std::string> cells(const CellResult& row, bool tokens, const std::string* aim) {
  std::vector<std::string> out = {row.planner};
  if (aim) out.push_back(*aim);
  out.push_back(shown::decimal(row.samples_per_s, 1));
  out.push_back(shown::text(row.strategy));
  if (tokens) out.push_back(shown::decimal(row.tokens_per_s, 0));
  for (std::string cell :
       {shown::decimal(row.tflops_per_device, 2), shown::percent(row.mfu),
        shown::bytes(row.peak_memory_bytes), shown::time(row.estimate_s), shown::time(row.iteration_s),
        shown::error(row.estimate_error), shown::percent(row.gap), shown::time(row.search_s),
        shown::number(row.states), shown::bytes(row.search_memory_bytes), shown::status(row)})
    out.push_back(std::move(cell));
  return out;
}

}  // namespace

std::vector<CellResult> ranked(std::vector<CellResult> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const CellResult& a, const CellResult& b) {
    return a.samples_per_s.value_or(0) > b.samples_per_s.value_or(0);
  });
  return rows;
}

std::string ranking(const std::vector<CellResult>& rows, const ScreenLimits& screen,
                    const std::optional<AimColumn>& aim) {
  const bool tokens = shown::any_tokens(rows);
  const bool joined = std::ranges::any_of(
      rows, [](const CellResult& row) { return row.planner.find(", ") != std::string::npos; });
  Table table(columns(tokens, joined, aim));
  std::string reasons;
  for (std::size_t r = 0; const CellResult& row : rows) {
    table.add(cells(row, tokens, aim ? &aim->cells[r++] : nullptr));
    if (row.status != "ok") reasons += fmt::format("{}: {}\n", row.planner, row.status);
  }
  return table.text(screen) + (reasons.empty() ? "" : "\n" + reasons);
}

}  // namespace penstock::report
