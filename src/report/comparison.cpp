#include "penstock/report/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "penstock/core/quantity_text.hpp"
#include "penstock/report/table.hpp"

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
