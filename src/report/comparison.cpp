#include "penstock/report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "penstock/core/quantity_text.hpp"
#include "penstock/report/table.hpp"

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

template <class T>
std::string shown(const std::optional<T>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f}%", *share * 100) : "-";
}

/// Columns that only some tables have.
struct Extra {
  bool setting = false, measured = false;
};

std::vector<std::string> cells(const CellResult& row, const std::optional<double>& times,
                               const Extra& extra) {
  const auto memory = row.peak_memory_bytes ? core::show(core::Bytes(*row.peak_memory_bytes)) : "-";
  std::vector<std::string> out = {row.model, row.cluster, std::to_string(row.devices),
                                  std::to_string(row.mini_batch)};
  if (extra.setting) out.push_back(row.setting);
  for (std::string cell :
       {row.planner,
        row.samples_per_s ? shown(row.samples_per_s, "{:.1f}") : row.status.substr(0, row.status.find(':')),
        times ? fmt::format("{:.2f}x", *times) : "", shown(row.stages, "{}"), shown(row.depth, "{}"),
        shown(row.micro_batch, "{}"), percent(row.bubble), shown(row.optimism, "{:.3f}"), percent(row.gap),
        memory})
    out.push_back(std::move(cell));
  if (extra.measured) out.push_back(row.search_s ? core::show(core::Seconds(*row.search_s)) : "-");
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
  const auto has_setting = [](const CellResult& row) { return !row.setting.empty(); };
  const Extra extra{std::any_of(rows.begin(), rows.end(), has_setting), measured};
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
