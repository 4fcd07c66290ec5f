#include "penstock/report/results_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>

#include "chart_panel.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"
#include "search_note.hpp"

namespace penstock::report {
namespace {

constexpr std::array<std::string_view, 3> kQuantities = {"throughput", "memory", "search_time"};
constexpr std::size_t kMostLines = 12, kAcross = 3;
constexpr int kTitleHeight = 44, kLegendLine = 18, kLegendWidth = 3 * kPanelWidth - 40;

std::optional<double> value_of(const CellResult& row, ChartQuantity quantity) {
  if (quantity == ChartQuantity::throughput) return row.samples_per_s;
  if (quantity == ChartQuantity::search_time) return row.search_s;
  if (!row.peak_memory_bytes) return std::nullopt;
  return static_cast<double>(*row.peak_memory_bytes) / (1 << 30);
}

ValueAxis axis_of(ChartQuantity quantity) {
  if (quantity == ChartQuantity::throughput) return {"samples/s", false};
  if (quantity == ChartQuantity::memory) return {"memory of the fullest device, GiB", false};
  return {"search time, s (logarithmic)", true};
}

bool more_is_better(ChartQuantity quantity) {
  return quantity == ChartQuantity::throughput;
}

/// Planners in the order of the rows; of many, those with the best value somewhere.
std::vector<std::string> lines_of(std::span<const CellResult> rows, ChartQuantity quantity) {
  std::vector<std::pair<std::string, double>> best;
  for (const CellResult& row : rows) {
    const auto value = value_of(row, quantity);
    if (!value) continue;
    const double worth = more_is_better(quantity) ? *value : -*value;
    const auto found = std::ranges::find(best, row.planner, &std::pair<std::string, double>::first);
    if (found == best.end())
      best.emplace_back(row.planner, worth);
    else
      found->second = std::max(found->second, worth);
  }
  auto ranked = best;
  std::ranges::stable_sort(ranked, std::greater{}, &std::pair<std::string, double>::second);
  ranked.resize(std::min(ranked.size(), kMostLines));
  std::vector<std::string> out;
  for (const auto& [planner, worth] : best)
    if (std::ranges::find(ranked, planner, &std::pair<std::string, double>::first) != ranked.end())
      out.push_back(planner);
  return out;
}

/// Horizontal axis of the panels: devices, or mini-batches if only these vary.
class PanelAxis {
 public:
  explicit PanelAxis(std::span<const CellResult> rows)
      : devices_(varies(rows, &CellResult::devices) || !varies(rows, &CellResult::mini_batch)) {}
  std::int64_t at(const CellResult& row) const { return devices_ ? row.devices : row.mini_batch; }
  std::int64_t other(const CellResult& row) const { return devices_ ? row.mini_batch : row.devices; }
  const char* title() const { return devices_ ? "devices" : "mini-batch"; }
  std::string other_title(const CellResult& row) const {
    return fmt::format("{} {}", devices_ ? "mini-batch" : "devices", other(row));
  }

 private:
  static bool varies(std::span<const CellResult> rows, std::int64_t CellResult::*member) {
    return std::ranges::any_of(rows,
                               [&](const CellResult& row) { return row.*member != rows.front().*member; });
  }
  bool devices_;
};

using Panels = std::vector<std::pair<std::string, std::vector<CellResult>>>;

/// Rows by panel, in the order of the rows. Values that change with the axis, such as a mini-batch with the
/// devices, are named only if `whole`.
Panels panels_of(std::span<const CellResult> rows, const PanelAxis& along, bool whole) {
  Panels out;
  for (const CellResult& row : rows) {
    std::string title = row.model + " on " + row.cluster;
    if (!row.setting.empty()) title += ", " + row.setting;
    if (whole) title += ", " + along.other_title(row);
    auto found = std::ranges::find(out, title, &Panels::value_type::first);
    if (found == out.end()) found = out.insert(out.end(), {title, {}});
    found->second.push_back(row);
  }
  return out;
}

/// True if a planner has two values at one place of a panel.
bool doubled(const Panels& panels, const PanelAxis& along) {
  return std::ranges::any_of(panels, [&](const auto& panel) {
    std::set<std::pair<std::string, std::int64_t>> places;
    for (const CellResult& row : panel.second)
      if (!places.emplace(row.planner, along.at(row)).second) return true;
    return false;
  });
}

ChartPanel panel_of(const Panels::value_type& panel, const PanelAxis& along, ChartQuantity quantity,
                    const std::vector<std::string>& planners) {
  ChartPanel out{panel.first, along.title(), axis_of(quantity), {}};
  for (std::size_t ink = 0; ink < planners.size(); ++ink) {
    ChartLine line{planners[ink], ink, {}};
    for (const CellResult& row : panel.second)
      if (const auto value = value_of(row, quantity); value && row.planner == planners[ink])
        line.points.emplace_back(static_cast<double>(along.at(row)), *value);
    std::ranges::sort(line.points);
    if (!line.points.empty()) out.lines.push_back(std::move(line));
  }
  return out;
}

/// Samples of the lines in rows, and their total height.
std::pair<std::string, int> legend(const std::vector<std::string>& planners, int top) {
  std::string out;
  int x = 20, y = top;
  for (std::size_t ink = 0; ink < planners.size(); ++ink) {
    const int width = 28 + 7 * static_cast<int>(planners[ink].size());
    if (x > 20 && x + width > kLegendWidth) x = 20, y += kLegendLine;
    out +=
        marker_element(ink, (x + 6) * kPixel, (y - 4) * kPixel) + text_element(x + 16, y, "", planners[ink]);
    x += width;
  }
  return {out, y - top + kLegendLine};
}

}  // namespace

const std::vector<std::string_view>& quantity_names() {
  static const std::vector<std::string_view> names(kQuantities.begin(), kQuantities.end());
  return names;
}

ChartQuantity quantity(std::string_view name) {
  return static_cast<ChartQuantity>(core::index_of(name, kQuantities, "quantity"));
}

std::string results_chart_svg(std::span<const CellResult> rows, ChartQuantity quantity,
                              std::string_view title) {
  const auto planners = lines_of(rows, quantity);
  if (planners.empty())
    throw core::BadInput(fmt::format("no row has a value of {}: there is nothing to draw",
                                     kQuantities[static_cast<std::size_t>(quantity)]));
  const PanelAxis along(rows);
  Panels panels = panels_of(rows, along, false);
  if (doubled(panels, along)) panels = panels_of(rows, along, true);
  const auto [samples, legend_height] = legend(planners, kTitleHeight);
  std::string notes;
  if (quantity == ChartQuantity::search_time && shared_cores(rows)) notes = kSharedCores;
  std::string body;
  std::size_t drawn = 0;
  const int top = kTitleHeight + legend_height;
  for (const auto& panel : panels) {
    const ChartPanel one = panel_of(panel, along, quantity, planners);
    if (one.lines.empty()) continue;
    body += panel_element(one, static_cast<int>(drawn % kAcross) * kPanelWidth,
                          top + static_cast<int>(drawn / kAcross) * kPanelHeight);
    ++drawn;
  }
  const int width = static_cast<int>(std::min(drawn, kAcross)) * kPanelWidth;
  const int height =
      top + static_cast<int>((drawn + kAcross - 1) / kAcross) * kPanelHeight + (notes.empty() ? 0 : 24);
  if (!notes.empty()) body += text_element(20, height - 10, "quiet", notes);
  return chart_head(std::max(width, 2 * kPanelWidth), height) + text_element(20, 24, "title", title) +
         samples + body + "</svg>\n";
}

}  // namespace penstock::report
