#include "what_if_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "penstock/core/quantity_text.hpp"
#include "penstock/report/table.hpp"

namespace penstock::experiment {
namespace {

using core::show;
using report::Align;

std::string faster(const WhatIfRow& today, const WhatIfRow& row) {
  return fmt::format("{:.3f}x", *row.result->samples_per_s / *today.result->samples_per_s);
}

}  // namespace

std::string what_if_table(const std::vector<WhatIfRow>& rows, const report::ScreenLimits& screen) {
  report::Table table({{.title = "what if", .folds = true},
                       {"iteration", Align::right},
                       {"samples/s", Align::right},
                       {"speed-up", Align::right},
                       {"MFU", Align::right, 2},
                       {"memory", Align::right, 3},
                       {"device memory", Align::right, 1},
                       {.title = "note", .folds = true}});
  for (const WhatIfRow& row : rows) {
    if (!row.result) {
      table.add({row.change, "", "", "", "", "", "", row.note});
      continue;
    }
    const report::CellResult& result = *row.result;
    table.add({row.change, show(core::Seconds(*result.iteration_s)),
               fmt::format("{:.1f}", *result.samples_per_s),
               rows.front().result ? faster(rows.front(), row) : "",
               result.mfu ? core::show_share(*result.mfu) : "", show(core::Bytes(*result.peak_memory_bytes)),
               show(row.capacity), row.note});
  }
  return table.text(screen);
}

nlohmann::ordered_json what_if_json(const std::vector<WhatIfRow>& rows) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const WhatIfRow& row : rows) {
    nlohmann::ordered_json one = {{"change", row.change}};
    if (const auto& result = row.result) {
      one.update({{"strategy", *result->strategy},
                  {"devices", result->devices},
                  {"mini_batch", result->mini_batch},
                  {"iteration_s", *result->iteration_s},
                  {"samples_per_s", *result->samples_per_s}});
      if (rows.front().result) one["speed_up"] = *result->samples_per_s / *rows.front().result->samples_per_s;
      if (result->mfu) one["mfu"] = *result->mfu;
      one.update({{"peak_memory_bytes", *result->peak_memory_bytes}, {"memory_bytes", row.capacity.value()}});
    }
    if (!row.note.empty()) one["note"] = row.note;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace penstock::experiment
