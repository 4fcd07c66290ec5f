#include "penstock/report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "penstock/report/table.hpp"
#include "shown.hpp"

namespace penstock::report {
namespace {

/// What the rows of one problem agree in: all but the planner.
About problem(const CellResult& row) {
  CellResult out = row;
  out.planner.clear();
  return about(out);
}

/// Throughput by problem, of the first row of each that has one.
using Baselines = std::map<About, double>;

Baselines baselines(std::span<const CellResult> rows, const std::string& planner) {
  Baselines out;
  for (const CellResult& row : rows)
    if (row.planner == planner && row.samples_per_s) out.emplace(problem(row), *row.samples_per_s);
  return out;
}

std::optional<double> ratio(const Baselines& bases, const CellResult& row, const std::string& baseline) {
  if (!row.samples_per_s || row.planner == baseline) return std::nullopt;
  const auto base = bases.find(problem(row));
  return base == bases.end() ? std::nullopt : std::optional(*row.samples_per_s / base->second);
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
  const Baselines bases = baselines(rows, baseline);
  for (const CellResult& row : rows) {
    const auto times = ratio(bases, row, baseline);
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
