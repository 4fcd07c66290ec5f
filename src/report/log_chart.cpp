#include "penstock/report/log_chart.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "log_axis.hpp"
#include "penstock/core/error.hpp"

namespace penstock::report {
namespace {

constexpr int kAxisLeft = 70, kAxisTop = 50, kPlotWidth = 480, kPlotHeight = 320, kLegend = 240, kUnder = 60;

struct ChartExtent {
  double least_x, most_x, least_y, most_y;
};

ChartExtent extent_of(const LogChart& chart) {
  std::vector<std::pair<double, double>> all;
  for (const ChartSeries& one : chart.series) {
    all.insert(all.end(), one.points.begin(), one.points.end());
    all.insert(all.end(), one.line.begin(), one.line.end());
  }
  core::require(!all.empty(), "a chart has points");
  ChartExtent out{all[0].first, all[0].first, all[0].second, all[0].second};
  for (const auto& [x, y] : all)
    out = {std::min(out.least_x, x), std::max(out.most_x, x), std::min(out.least_y, y),
           std::max(out.most_y, y)};
  return out;
}

class LogChartPicture {
 public:
  explicit LogChartPicture(const LogChart& chart) : LogChartPicture(chart, extent_of(chart)) {}

  std::string svg() const {
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
        "<style>text{{font:12px sans-serif;fill:#222}}.title{{font-size:15px}}.tick{{fill:#555}}"
        ".right{{text-anchor:end}}.middle{{text-anchor:middle}}.grid{{stroke:#DDD}}"
        "circle{{fill-opacity:.6;stroke:none}}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#FFF\"/>\n",
        kAxisLeft + kPlotWidth + kLegend, kAxisTop + kPlotHeight + kUnder);
    out += text_element(kAxisLeft, kAxisTop - 28, "title", chart_.title) + grid();
    for (std::size_t s = 0; s < chart_.series.size(); ++s) out += series(s);
    return out + "</svg>\n";
  }

 private:
  LogChartPicture(const LogChart& chart, const ChartExtent& extent)
      : chart_(chart),
        x_(extent.least_x, extent.most_x, kPlotWidth),
        y_(extent.least_y, extent.most_y, kPlotHeight) {}

  Tenths x(double value) const { return kAxisLeft * kPixel + x_.at(value); }
  Tenths y(double value) const { return (kAxisTop + kPlotHeight) * kPixel - y_.at(value); }
  static int whole(Tenths length) { return static_cast<int>(length / kPixel); }

  std::string grid() const {
    std::string out;
    const auto line = [&](Tenths x1, Tenths y1, Tenths x2, Tenths y2) {
      return fmt::format("<path class=\"grid\" d=\"M{} {}L{} {}\"/>\n", px(x1), px(y1), px(x2), px(y2));
    };
    const Tenths left = kAxisLeft * kPixel, bottom = (kAxisTop + kPlotHeight) * kPixel;
    for (const double tick : x_.ticks()) {
      out += line(x(tick), bottom, x(tick), kAxisTop * kPixel);
      if (x_.labelled(tick))
        out += text_element(whole(x(tick)), kAxisTop + kPlotHeight + 18, "tick middle",
                            fmt::format("{:g}", tick));
    }
    for (const double tick : y_.ticks()) {
      out += line(left, y(tick), left + kPlotWidth * kPixel, y(tick));
      if (y_.labelled(tick))
        out += text_element(kAxisLeft - 6, whole(y(tick)) + 4, "tick right", fmt::format("{:g}", tick));
    }
    return out + text_element(kAxisLeft + kPlotWidth / 2, kAxisTop + kPlotHeight + 42, "middle", chart_.x) +
           text_element(kAxisLeft, kAxisTop - 8, "tick", chart_.y);
  }

  std::string series(std::size_t s) const {
    const ChartSeries& one = chart_.series[s];
    const std::string_view colour = kColours[s % kColours.size()];
    std::string out = fmt::format("<g fill=\"{0}\" stroke=\"{0}\">\n", colour), path;
    for (const auto& [at, value] : one.line)
      path += fmt::format("{}{} {}", path.empty() ? 'M' : 'L', px(x(at)), px(y(value)));
    if (!path.empty()) out += fmt::format("<path fill=\"none\" d=\"{}\"/>\n", path);
    for (const auto& [at, value] : one.points)
      out += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3\"/>\n", px(x(at)), px(y(value)));
    const int top = kAxisTop + 14 + 20 * static_cast<int>(s), left = kAxisLeft + kPlotWidth + 20;
    out += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"4\"/>\n</g>\n", left, top - 4);
    return out + text_element(left + 10, top, "legend", one.name);
  }

  const LogChart& chart_;
  LogAxis x_, y_;
};

}  // namespace

std::string log_chart_svg(const LogChart& chart) {
  return LogChartPicture(chart).svg();
}

}  // namespace penstock::report
