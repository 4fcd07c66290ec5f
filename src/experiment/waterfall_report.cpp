#include "waterfall_report.hpp"

#include <nlohmann/json.hpp>

#include "penstock/core/quantity_text.hpp"
#include "penstock/report/table.hpp"

namespace penstock::experiment {
namespace {

using core::Picoseconds;
using report::Align;
using sim::TimePart;

std::string shown(Picoseconds time) {
  return core::show(to_seconds(time));
}

}  // namespace

std::string waterfall_table(const sim::Waterfall& waterfall, const report::ScreenLimits& screen) {
  report::Table table({{.title = "device time of an iteration", .folds = true},
                       {"time", Align::right},
                       {"share", Align::right},
                       {"MFU so far", Align::right, 1},
                       {"MFU without it", Align::right, 2}});
  const bool known = waterfall.of(TimePart::model) > Picoseconds(0);
  const auto mfu = [&](double value) { return known ? core::show_share(value) : std::string(); };
  for (std::size_t p = 0; p < sim::kTimeParts; ++p) {
    const auto part = static_cast<TimePart>(p);
    if (waterfall.of(part) == Picoseconds(0)) continue;
    table.add({std::string(name(part)), shown(waterfall.of(part)), core::show_share(waterfall.share(part)),
               mfu(waterfall.reached(part)), part == TimePart::model ? "" : mfu(waterfall.without(part))});
  }
  table.add({"iteration", shown(waterfall.iteration), core::show_share(1),
             mfu(waterfall.share(TimePart::model)), ""});
  return table.text(screen);
}

nlohmann::ordered_json waterfall_json(const sim::Waterfall& waterfall) {
  nlohmann::ordered_json parts;
  for (std::size_t p = 0; p < sim::kTimeParts; ++p) {
    const auto part = static_cast<TimePart>(p);
    parts.push_back({{"part", key(part)},
                     {"name", name(part)},
                     {"time_ps", waterfall.of(part).value()},
                     {"share", waterfall.share(part)},
                     {"mfu_so_far", waterfall.reached(part)},
                     {"mfu_without", waterfall.without(part)}});
  }
  return {{"iteration_ps", waterfall.iteration.value()}, {"parts", std::move(parts)}};
}

}  // namespace penstock::experiment
