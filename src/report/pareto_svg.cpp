#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "log_axis.hpp"
#include "penstock/core/error.hpp"
#include "penstock/report/pareto.hpp"

namespace penstock::report {
namespace {

double seconds(const CellResult& row) {
  return *row.iteration_s;
}
double gibibytes(const CellResult& row) {
  return static_cast<double>(*row.peak_memory_bytes) / (1 << 30);
}

LogAxis axis_of(std::span<const ParetoPoint> points, double (*value)(const CellResult&), int pixels) {
  double least = value(points.front().row), most = least;
  for (const ParetoPoint& point : points) {
    least = std::min(least, value(point.row));
    most = std::max(most, value(point.row));
  }
  return {least, most, pixels};
}

class ParetoPicture {
  static constexpr int kLeft = 90, kTop = 60, kWide = 560, kHigh = 400, kRight = 190, kBottom = 60;

 public:
  ParetoPicture(std::span<const ParetoPoint> points, std::string_view title)
      : points_(points),
        title_(title),
        time_(axis_of(points, seconds, kHigh)),
        memory_(axis_of(points, gibibytes, kWide)) {
    for (const ParetoPoint& point : points) counts_.insert(point.row.devices);
  }

  std::string svg() const {
    constexpr int kWidth = kLeft + kWide + kRight, kHeight = kTop + kHigh + kBottom;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
        "<style>text{{font:12px sans-serif;fill:#222}}.title{{font-size:15px}}.tick{{fill:#555}}"
        ".right{{text-anchor:end}}.middle{{text-anchor:middle}}.grid{{stroke:#DDD}}"
        ".other{{fill:none;stroke-opacity:.6}}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#FFF\"/>\n",
        kWidth, kHeight);
    out += text_element(20, 26, "title", title_);
    return out + grid() + dots() + legend() + "</svg>\n";
  }

 private:
  Tenths x(double gib) const { return kLeft * kPixel + memory_.at(gib); }
  Tenths y(double time) const { return (kTop + kHigh) * kPixel - time_.at(time); }
  static int whole(Tenths length) { return static_cast<int>(length / kPixel); }

  std::string grid() const {
    std::string out;
    for (const double tick : memory_.ticks()) {
      out += fmt::format("<path class=\"grid\" d=\"M{} {}v{}\"/>\n", px(x(tick)), kTop, kHigh);
      if (memory_.labelled(tick))
        out += text_element(whole(x(tick)), kTop + kHigh + 18, "tick middle", fmt::format("{:g}", tick));
    }
    for (const double tick : time_.ticks()) {
      out += fmt::format("<path class=\"grid\" d=\"M{} {}h{}\"/>\n", kLeft, px(y(tick)), kWide);
      if (time_.labelled(tick))
        out += text_element(kLeft - 6, whole(y(tick)) + 4, "tick right", fmt::format("{:g}", tick));
    }
    out += text_element(kLeft + kWide / 2, kTop + kHigh + 42, "middle", "memory of the fullest device, GiB");
    return out + text_element(20, kTop - 12, "tick", "simulated iteration, s");
  }

  std::string_view colour(std::int64_t devices) const {
    const auto at = static_cast<std::size_t>(std::distance(counts_.begin(), counts_.find(devices)));
    return kColours[at % kColours.size()];
  }

  std::string dots() const {
    std::string out;
    for (const ParetoPoint& point : points_) {
      const Tenths cx = x(gibibytes(point.row)), cy = y(seconds(point.row));
      const std::string_view ink = colour(point.row.devices);
      out += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"5\" {}=\"{}\"{}/>\n", px(cx), px(cy),
                         point.front ? "fill" : "stroke", ink, point.front ? "" : " class=\"other\"");
      if (point.front) out += text_element(whole(cx) + 8, whole(cy) - 6, "", point.label);
    }
    return out;
  }

  std::string legend() const {
    std::string out;
    int at = kTop + 10;
    for (const std::int64_t count : counts_) {
      out += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"5\" fill=\"{}\"/>\n", kLeft + kWide + 24, at - 4,
                         colour(count));
      out +=
          text_element(kLeft + kWide + 36, at, "", fmt::format("{} device{}", count, count == 1 ? "" : "s"));
      at += 20;
    }
    return out + text_element(kLeft + kWide + 18, at + 6, "tick", "filled: no plan beats it");
  }

  std::span<const ParetoPoint> points_;
  std::string_view title_;
  std::set<std::int64_t> counts_;
  LogAxis time_, memory_;
};

}  // namespace

std::string pareto_svg(std::span<const ParetoPoint> points, std::string_view title) {
  core::require(!points.empty(), "a picture of plans has some");
  return ParetoPicture(points, title).svg();
}

}  // namespace penstock::report
