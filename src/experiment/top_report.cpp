#include "top_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kept_plans.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/report/table.hpp"

namespace penstock::experiment {
namespace {

using report::Align;

void add(const report::CellResult& row, const report::CellResult& best, const std::string& differs,
         report::Table& table) {
  table.add({*row.strategy, fmt::format("{:.1f}", *row.samples_per_s),
             core::show_share(*row.samples_per_s / *best.samples_per_s),
             row.mfu ? core::show_share(*row.mfu) : "", core::show(core::Bytes(*row.peak_memory_bytes)),
             differs});
}

}  // namespace

std::string top_table(const CellOutcome& outcome, const report::ScreenLimits& screen) {
  report::Table table({{.title = "best plan of its kind", .folds = true},
                       {"samples/s", Align::right},
                       {"of best", Align::right},
                       {"MFU", Align::right, 1},
                       {"memory", Align::right},
                       {.title = "differs from the best in", .folds = true}});
  add(outcome.row, outcome.row, "", table);
  for (const CellOutcome& other : outcome.others)
    add(other.row, outcome.row, differences(*outcome.plan, *other.plan), table);
  return table.text(screen);
}

nlohmann::ordered_json top_json(const CellOutcome& outcome) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const CellOutcome& other : outcome.others) {
    const report::CellResult& row = other.row;
    nlohmann::ordered_json one = {{"strategy", *row.strategy},
                                  {"iteration_s", *row.iteration_s},
                                  {"samples_per_s", *row.samples_per_s},
                                  {"of_best", *row.samples_per_s / *outcome.row.samples_per_s}};
    if (row.mfu) one["mfu"] = *row.mfu;
    one.update({{"peak_memory_bytes", *row.peak_memory_bytes},
                {"differs_in", differences(*outcome.plan, *other.plan)}});
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace penstock::experiment
