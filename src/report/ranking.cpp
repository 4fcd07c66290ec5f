#include "penstock/report/ranking.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/quantity_text.hpp"
#include "penstock/report/table.hpp"

namespace penstock::report {
namespace {

template <class T>
std::string shown(const std::optional<T>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

std::string time(const std::optional<double>& seconds) {
  return seconds ? core::show(core::Seconds(*seconds)) : "-";
}
std::string bytes(const std::optional<std::int64_t>& count) {
  return count ? core::show(core::Bytes(*count)) : "-";
}
std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f}%", *share * 100) : "-";
}

std::vector<std::string> cells(const CellResult& row) {
  return {row.planner,
          shown(row.samples_per_s, "{:.1f}"),
          row.schedule.value_or("-"),
          shown(row.stages, "{}"),
          shown(row.depth, "{}"),
          shown(row.micro_batch, "{}"),
          time(row.estimate_s),
          time(row.iteration_s),
          shown(row.optimism, "{:.3f}"),
          percent(row.gap),
          bytes(row.peak_memory_bytes),
          time(row.search_s),
          shown(row.states, "{}"),
          bytes(row.search_memory_bytes),
          row.status.substr(0, row.status.find(':'))};
}

}  // namespace

std::vector<CellResult> ranked(std::vector<CellResult> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const CellResult& a, const CellResult& b) {
    return a.samples_per_s.value_or(0) > b.samples_per_s.value_or(0);
  });
  return rows;
}

std::string ranking(const std::vector<CellResult>& rows) {
  const Align right = Align::right;
  Table table({{"planner"},
               {"samples/s", right},
               {"schedule"},
               {"stages", right},
               {"depth", right},
               {"micro-batch", right},
               {"estimated", right},
               {"simulated", right},
               {"optimism", right},
               {"gap", right},
               {"memory", right},
               {"search", right},
               {"states", right},
               {"search memory", right},
               {"status"}});
  std::string reasons;
  for (const CellResult& row : rows) {
    table.add(cells(row));
    if (row.status != "ok") reasons += fmt::format("{}: {}\n", row.planner, row.status);
  }
  return table.text() + (reasons.empty() ? "" : "\n" + reasons);
}

}  // namespace penstock::report
