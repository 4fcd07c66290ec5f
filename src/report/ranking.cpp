#include "penstock/report/ranking.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/report/table.hpp"
#include "shown.hpp"

namespace penstock::report {
namespace {

std::vector<std::string> cells(const CellResult& row) {
  return {row.planner,
          shown::decimal(row.samples_per_s, 1),
          row.schedule.value_or("-"),
          shown::number(row.stages),
          shown::number(row.depth),
          shown::number(row.micro_batch),
          shown::time(row.estimate_s),
          shown::time(row.iteration_s),
          shown::decimal(row.optimism, 3),
          shown::percent(row.gap),
          shown::bytes(row.peak_memory_bytes),
          shown::time(row.search_s),
          shown::number(row.states),
          shown::bytes(row.search_memory_bytes),
          shown::status(row)};
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
