#include "chart_panel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "log_axis.hpp"
#include "penstock/report/lines.hpp"

namespace penstock::report {
namespace {

/// Position and size of the plot in the panel.
constexpr int kPlotLeft = 62, kPlotTop = 40, kPlotWide = 256, kPlotHigh = 142;
constexpr std::size_t kTitleLetters = 48;

/// Colours of the page (page/style.css, page/chart.js).
constexpr std::array<std::string_view, 7> kInks = {"#0072b2", "#b96f00", "#00805e", "#c44e00",
                                                   "#a8518a", "#2f8fc4", "#5b636c"};
constexpr std::array<std::string_view, 6> kShapes = {"M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
                                                     "M-3.5-3.5h7v7h-7Z",
                                                     "M0-4.8L4.5 3.5H-4.5Z",
                                                     "M0-5L5 0L0 5L-5 0Z",
                                                     "M0 4.8L4.5-3.5H-4.5Z",
                                                     "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3Z"};

std::string_view ink_of(std::size_t ink) {
  return kInks[ink % kInks.size()];
}

/// Step of 1, 2 or 5 times a power of ten that divides the whole into at most `most` parts.
double nice_step(double whole, int most) {
  const double decade = std::pow(10, std::floor(std::log10(whole / most)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (whole / (factor * decade) <= most) return factor * decade;
  return 10 * decade;
}

/// Height of values above the plot's lower edge.
class HeightScale {
 public:
  HeightScale(const ChartPanel& panel, int pixels) : pixels_(pixels) {
    double least = panel.lines.front().points.front().second;
    for (const ChartLine& line : panel.lines)
      for (const auto& [x, value] : line.points) {
        least = std::min(least, value);
        most_ = std::max(most_, value);
      }
    if (panel.up.logarithmic && least > 0) {
      log_.emplace(least, most_, pixels);
      for (const double tick : log_->ticks())
        if (log_->labelled(tick)) ticks_.push_back(tick);
      return;
    }
    if (!(most_ > 0)) most_ = 1;
    const double step = nice_step(most_, 5);
    for (int i = 0; i * step <= most_ * 1.04; ++i) ticks_.push_back(i * step);
    most_ *= 1.06;
  }
  Tenths at(double value) const {
    return log_ ? log_->at(value) : LineScale{most_, pixels_ * kPixel}.at(std::max(value, 0.0));
  }
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  int pixels_;
  double most_ = 0;
  std::optional<LogAxis> log_;
  std::vector<double> ticks_;
};

/// Position along the plot; logarithmic if the largest is at least four times the smallest.
class PlaceScale {
 public:
  explicit PlaceScale(const ChartPanel& panel) {
    for (const ChartLine& line : panel.lines)
      for (const auto& [place, value] : line.points) places_.insert(place);
    log_ = *places_.begin() > 0 && *places_.rbegin() >= 4 * *places_.begin();
  }
  const std::set<double>& places() const { return places_; }
  Tenths at(double place) const {
    constexpr int kMargin = 14;
    const double low = position(*places_.begin()), high = position(*places_.rbegin());
    return kMargin * kPixel +
           LineScale{high - low, (kPlotWide - 2 * kMargin) * kPixel}.at(position(place) - low);
  }

 private:
  double position(double place) const { return log_ ? std::log2(place) : place; }
  std::set<double> places_;
  bool log_ = false;
};

/// Markers already drawn. If lines have equal points, later markers are moved beside the first, and later
/// lines are dashed, so that none hides another.
class TakenPixels {
 public:
  /// Horizontal offset of a marker in pixels: 0, then 7, -7, 14, ...
  Tenths step(Tenths x, Tenths y) {
    constexpr Tenths kStep = 7 * kPixel;
    const int before = counts_[{x / kPixel, y / kPixel}]++;
    return (before + 1) / 2 * (before % 2 == 1 ? kStep : -kStep);
  }

 private:
  std::map<std::pair<Tenths, Tenths>, int> counts_;
};

std::string shortened(const std::string& text, std::size_t letters) {
  return display_width(text) <= letters ? text : wrapped(text, letters - 2).front() + " …";
}

/// Four digits, and all digits before the point.
std::string number_text(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string up_axis(const HeightScale& up, int x, int y) {
  std::string out;
  for (const double tick : up.ticks()) {
    const Tenths at = (y + kPlotTop + kPlotHigh) * kPixel - up.at(tick);
    out += fmt::format("<path class=\"grid\" d=\"M{} {}h{}\"/>\n", x + kPlotLeft, px(at), kPlotWide);
    out += text_element(x + kPlotLeft - 6, static_cast<int>(at / kPixel) + 4, "quiet end", number_text(tick));
  }
  return out;
}

std::string lines_element(const ChartPanel& panel, int x, int y) {
  const HeightScale up(panel, kPlotHigh);
  const PlaceScale across(panel);
  std::string out = up_axis(up, x, y);
  const int bottom = y + kPlotTop + kPlotHigh;
  Tenths reached = 0;
  for (const double place : across.places()) {
    const std::string text = number_text(place);
    const Tenths at = across.at(place), half = 35 * static_cast<Tenths>(text.size());
    out += fmt::format("<path class=\"grid\" d=\"M{} {}v4\"/>\n", px((x + kPlotLeft) * kPixel + at), bottom);
    if (at - half < reached) continue;
    reached = at + half + 60;
    out += text_element(x + kPlotLeft + static_cast<int>(at / kPixel), bottom + 16, "quiet middle", text);
  }
  out += text_element(x + kPlotLeft + kPlotWide / 2, bottom + 32, "middle", panel.along);
  TakenPixels taken;
  for (const ChartLine& line : panel.lines) {
    std::string path, markers;
    bool over = false, beside = false;  // over: the line joins two occupied points
    for (const auto& [place, value] : line.points) {
      const Tenths px_x = (x + kPlotLeft) * kPixel + across.at(place), px_y = bottom * kPixel - up.at(value);
      path += fmt::format("{}{} {}", path.empty() ? "M" : "L", px(px_x), px(px_y));
      const Tenths step = taken.step(px_x, px_y);
      over = over || (beside && step != 0);
      beside = step != 0;
      markers += marker_element(line.ink, px_x + step, px_y);
    }
    if (line.points.size() > 1)
      out += fmt::format("<path class=\"line\" stroke=\"{}\"{} d=\"{}\"/>\n", ink_of(line.ink),
                         over ? " stroke-dasharray=\"6 6\"" : "", path);
    out += markers;
  }
  return out;
}

/// One bar for each line, with its name in front and its value behind.
std::string bars_element(const ChartPanel& panel, int x, int y) {
  constexpr int kNames = 108, kValues = 62, kNameLetters = 15, kTallest = 26;
  const HeightScale along(panel, kPanelWidth - 20 - kNames - kValues);
  const int step = std::min(kTallest, (kPlotHigh + 30) / static_cast<int>(panel.lines.size()));
  const int left = x + 20 + kNames;
  std::string out;
  for (std::size_t i = 0; i < panel.lines.size(); ++i) {
    const ChartLine& line = panel.lines[i];
    const double value = line.points.front().second;
    const int top = y + kPlotTop + static_cast<int>(i) * step, base = top + step / 2 + 2;
    const Tenths length = std::max<Tenths>(along.at(value), kPixel);
    out += text_element(left - 6, base, "quiet end", shortened(line.name, kNameLetters));
    out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", left, top,
                       px(length), std::max(step - 4, 3), ink_of(line.ink));
    out += text_element(left + 6 + static_cast<int>(length / kPixel), base, "quiet", number_text(value));
  }
  return out;
}

bool one_place(const ChartPanel& panel) {
  return PlaceScale(panel).places().size() == 1;
}

}  // namespace

std::string chart_head(int width, int height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
      "<style>text{{font:12px \"DejaVu Sans\",Verdana,Helvetica,Arial,sans-serif;fill:#1c1f23}}"
      ".title{{font-size:15px}}.name{{font-weight:bold}}.quiet{{fill:#5b636c;font-size:11px}}"
      ".middle{{text-anchor:middle}}.end{{text-anchor:end}}.grid{{stroke:#d4d8dd;fill:none}}"
      ".line{{fill:none;stroke-width:1.8}}.marker{{stroke:#fff;stroke-width:.8}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      width, height);
}

std::string panel_element(const ChartPanel& panel, int x, int y) {
  return text_element(x + 20, y + 14, "name", shortened(panel.title, kTitleLetters)) +
         text_element(x + 20, y + 30, "quiet", panel.up.title) +
         (one_place(panel) ? bars_element(panel, x, y) : lines_element(panel, x, y));
}

std::string marker_element(std::size_t ink, Tenths x, Tenths y) {
  return fmt::format("<path class=\"marker\" fill=\"{}\" transform=\"translate({} {})\" d=\"{}\"/>\n",
                     ink_of(ink), px(x), px(y), kShapes[ink % kShapes.size()]);
}

}  // namespace penstock::report
