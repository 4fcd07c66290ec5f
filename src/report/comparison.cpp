#include "penstock/report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "penstock/report/table.hpp"
#include "shown.hpp"

namespace penstock::report {
namespace {

bool same_problem(const CellResult& a, const CellResult& b) {
  return a.model == b.model && a.cluster == b.cluster && a.devices == b.devices &&
         a.mini_batch == b.mini_batch && a.setting == b.setting;
}

const CellResult* baseline_of(std::span<const CellResult> rows, const CellResult& row,
                              const std::string& baseline) {
  for (const CellResult& other : rows)
    if (other.planner == baseline && same_problem(row, other) && other.samples_per_s) return &other;
  return nullptr;
}

std::optional<double> ratio(std::span<const CellResult> rows, const CellResult& row,
                            const std::string& baseline) {
  const CellResult* base = baseline_of(rows, row, baseline);
  if (!base || !row.samples_per_s || row.planner == baseline) return std::nullopt;
  return *row.samples_per_s / *base->samples_per_s;
}

/// Columns that only some tables have.
struct Extra {
  bool setting = false, measured = false;
};

std::vector<std::string> cells(const CellResult& row, const std::optional<double>& times,
                               const Extra& extra) {
  std::vector<std::string> out = {row.model, row.cluster, std::to_string(row.devices),
                                  std::to_string(row.mini_batch)};
  if (extra.setting) out.push_back(row.setting);
  for (std::string cell :
       {row.planner, row.samples_per_s ? shown::decimal(row.samples_per_s, 1) : shown::status(row),
        times ? fmt::format("{:.2f}x", *times) : "", shown::number(row.stages), shown::number(row.depth),
        shown::number(row.micro_batch), shown::percent(row.bubble), shown::decimal(row.optimism, 3),
        shown::percent(row.gap), shown::bytes(row.peak_memory_bytes)})
    out.push_back(std::move(cell));
  if (extra.measured) out.push_back(shown::time(row.search_s));
  return out;
}

std::vector<Column> columns(const Extra& extra) {
  std::vector<Column> out = {{"model"}, {"cluster"}, {"GPUs", Align::right}, {"mini-batch", Align::right}};
  if (extra.setting) out.push_back({"setting"});
  out.push_back({"planner"});
  for (const char* name :
       {"samples/s", "ratio", "stages", "depth", "micro-batch", "bubble", "optimism", "gap", "peak memory"})
    out.push_back({name, Align::right});
  if (extra.measured) out.push_back({"search", Align::right});
  return out;
}

}  // namespace

std::string comparison(std::span<const CellResult> rows, const std::string& baseline, bool measured) {
  const Extra extra{shown::any_setting(rows), measured};
  Table table(columns(extra));
  const CellResult* best = nullptr;
  double largest = 0;
  for (const CellResult& row : rows) {
    const auto times = ratio(rows, row, baseline);
    table.add(cells(row, times, extra));
    if (times && *times > largest) {
      largest = *times;
      best = &row;
    }
  }
  std::string out = table.text();
  if (best)
    out += fmt::format("\nLargest ratio: {} is {:.2f} times {} ({} on {} devices, mini-batch {}).\n",
                       best->planner, largest, baseline, best->model, best->devices, best->mini_batch);
  std::set<std::string> costs;
  for (const CellResult& row : rows)
    if (!row.costs.empty() && row.costs != "analytic") costs.insert(row.costs);
  for (const std::string& source : costs) out += fmt::format("{}Costs: {}.\n", best ? "" : "\n", source);
  return out;
}

}  // namespace penstock::report
