#include "penstock/report/published_scatter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "log_axis.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"

namespace penstock::report {
namespace {

constexpr int kLeft = 70, kTop = 50, kPlot = 480, kRight = 270, kBottom = 60;

class ScatterChart {
 public:
  ScatterChart(std::span<const PublishedPrediction> predictions, std::string_view title)
      : predictions_(predictions), title_(title), axis_(axis_of(predictions)) {}

  std::string svg() const {
    constexpr int kWidth = kLeft + kPlot + kRight, kHeight = kTop + kPlot + kBottom;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
        "<style>text{{font:12px sans-serif;fill:#222}}.title{{font-size:15px}}.tick{{fill:#555}}"
        ".right{{text-anchor:end}}.middle{{text-anchor:middle}}.grid{{stroke:#DDD}}"
        ".exact{{stroke:#222}}.band{{stroke:#222;stroke-dasharray:4 4}}circle{{fill-opacity:.6}}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#FFF\"/>\n",
        kWidth, kHeight);
    out += text_element(kLeft, kTop - 20, "title", title_);
    return out + grid() + lines() + dots() + "</svg>\n";
  }

 private:
  static LogAxis axis_of(std::span<const PublishedPrediction> predictions) {
    core::require(!predictions.empty(), "a picture of predictions has some");
    double least = predictions.front().seconds, most = least;
    for (const PublishedPrediction& p : predictions) {
      least = std::min({least, p.seconds, p.run->measured_s});
      most = std::max({most, p.seconds, p.run->measured_s});
    }
    return {least, most, kPlot};
  }

  Tenths x(double seconds) const { return kLeft * kPixel + axis_.at(seconds); }
  Tenths y(double seconds) const { return (kTop + kPlot) * kPixel - axis_.at(seconds); }

  std::string line(std::string_view style, double x1, double y1, double x2, double y2) const {
    return fmt::format("<path class=\"{}\" fill=\"none\" d=\"M{} {}L{} {}\"/>\n", style, px(x(x1)), px(y(y1)),
                       px(x(x2)), px(y(y2)));
  }

  std::string grid() const {
    const double low = axis_.ticks().front(), high = axis_.ticks().back();
    const auto whole = [](Tenths length) { return static_cast<int>(length / kPixel); };
    std::string out;
    for (const double tick : axis_.ticks()) {
      const std::string seconds = axis_.labelled(tick) ? fmt::format("{:g}", tick) : "";
      out += line("grid", tick, low, tick, high) + line("grid", low, tick, high, tick);
      out += text_element(whole(x(tick)), kTop + kPlot + 18, "tick middle", seconds);
      out += text_element(kLeft - 6, whole(y(tick)) + 4, "tick right", seconds);
    }
    out += text_element(kLeft + kPlot / 2, kTop + kPlot + 42, "middle", "measured iteration time, s");
    return out + text_element(kLeft, kTop - 4, "tick", "predicted iteration time, s");
  }

  /// The diagonal, and lines at a fifth longer and shorter.
  std::string lines() const {
    const double low = axis_.ticks().front(), high = axis_.ticks().back();
    constexpr double kLonger = 1.2, kShorter = 0.8;
    return line("exact", low, low, high, high) + line("band", low, low * kLonger, high / kLonger, high) +
           line("band", low / kShorter, low, high, high * kShorter);
  }

  std::string dots() const {
    std::string out;
    const auto errors = published_errors(predictions_);
    for (std::size_t s = 0; s < errors.size(); ++s) {
      const std::string_view colour = kColours[s % kColours.size()];
      out += fmt::format("<g fill=\"{}\">\n", colour);
      for (const PublishedPrediction& p : predictions_)
        if (p.run->set == errors[s].set)
          out += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3\"/>\n", px(x(p.run->measured_s)),
                             px(y(p.seconds)));
      const int at = kTop + 14 + 20 * static_cast<int>(s), left = kLeft + kPlot + 24;
      out += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"4\"/>\n</g>\n", left, at - 4);
      out += text_element(left + 10, at, "legend",
                          fmt::format("{}: {} run{}, {} off", errors[s].set, errors[s].runs,
                                      errors[s].runs == 1 ? "" : "s", core::show_share(errors[s].mean)));
    }
    const int below = kTop + 30 + 20 * static_cast<int>(errors.size());
    return out + text_element(kLeft + kPlot + 18, below, "tick", "dashed: 20 % off");
  }

  std::span<const PublishedPrediction> predictions_;
  std::string_view title_;
  LogAxis axis_;
};

}  // namespace

std::string published_scatter_svg(std::span<const PublishedPrediction> predictions, std::string_view title) {
  return ScatterChart(predictions, title).svg();
}

}  // namespace penstock::report
