#include "penstock/report/planner_chart.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/quantity_text.hpp"
#include "shown.hpp"
#include "svg.hpp"

namespace penstock::report {
namespace {

class PlannerChart {
 public:
  PlannerChart(std::span<const PlannerBar> bars, std::string_view title, std::string_view aim)
      : bars_(bars), title_(title), aim_(aim) {
    for (const PlannerBar& bar : bars) scale_.whole = std::max(scale_.whole, length(bar));
  }

  std::string svg() const {
    int height = kTop + kBottom;
    for (const PlannerBar& bar : bars_) height += row_height(bar);
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
        "<style>text{{font:12px sans-serif;fill:#222}}.title{{font-size:15px}}.name{{font-weight:bold}}"
        ".quiet{{fill:#666;font-size:11px}}.bar{{fill:#56B4E9}}.bound{{stroke:#222;stroke-width:2}}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#FFF\"/>\n",
        kWidth, height);
    out += text_element(kLeft, 26, "title", fitted(std::string(title_), kTitleLetters));
    out += text_element(kLeft, 46, "quiet", aim_.empty() ? kTime : fitted(std::string(aim_), kLetters));
    for (int y = kTop; const PlannerBar& bar : bars_) {
      out += entry(bar, y);
      y += row_height(bar);
    }
    return out + "</svg>\n";
  }

 private:
  static constexpr int kWidth = 940, kLeft = 20, kBar = 600, kTop = 64, kThick = 14, kBottom = 16;
  static constexpr const char* kTime =
      "simulated time of an iteration; a dark mark: no plan that divides as much takes less";
  static constexpr std::size_t kTitleLetters = 110, kLetters = 140;  ///< per line

  /// Length of a bar, in the unit of the chart.
  static double length(const PlannerBar& bar) {
    return bar.aim_words.empty() ? bar.row.iteration_s.value_or(0) : bar.aim;
  }

  static int row_height(const PlannerBar& bar) { return bar.row.iteration_s ? 58 : 40; }

  /// Shortens a text that is too long for a line, at a UTF-8 character boundary.
  static std::string fitted(const std::string& text, std::size_t letters) {
    if (text.size() <= letters) return text;
    std::size_t end = letters;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    return text.substr(0, end) + " …";
  }

  /// Returns a text such as "1.20 s, 12.3 % above the bound".
  static std::string in_words(const CellResult& row) {
    std::string out = core::show(core::Seconds(*row.iteration_s));
    if (row.gap) out += fmt::format(", {:.1f} % above the bound", *row.gap * 100);
    return out;
  }

  std::string bar_of(const PlannerBar& bar, int y) const {
    const CellResult& row = bar.row;
    const bool time = bar.aim_words.empty();
    const Tenths end = scale_.at(length(bar));
    std::string out = fmt::format("<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                                  kLeft, y, px(end), kThick);
    if (time && row.lower_bound_s)
      out += fmt::format("<path class=\"bound\" d=\"M{} {}v{}\"/>\n",
                         px(kLeft * kPixel + scale_.at(*row.lower_bound_s)), y - 2, kThick + 4);
    return out + text_element(kLeft + static_cast<int>(end / kPixel) + 8, y + 11, "",
                              time ? in_words(row) : bar.aim_words);
  }

  std::string entry(const PlannerBar& bar, int y) const {
    const CellResult& row = bar.row;
    std::string out = fmt::format(
        "<text x=\"{}\" y=\"{}\"><tspan class=\"name\">{}</tspan><tspan class=\"quiet\" "
        "dx=\"8\">{}</tspan></text>\n",
        kLeft, y + 12, escaped(row.planner), escaped(fitted(row.strategy.value_or(row.status), kLetters)));
    if (row.iteration_s) out += bar_of(bar, y + 18);
    const int below = y + (row.iteration_s ? 46 : 28);
    return out + text_element(kLeft, below, "quiet", fitted("leaves out: " + bar.unseen, kLetters));
  }

  std::span<const PlannerBar> bars_;
  std::string_view title_, aim_;
  LineScale scale_{0, kBar* kPixel};
};

}  // namespace

std::string planner_chart_svg(std::span<const PlannerBar> bars, std::string_view title,
                              std::string_view aim) {
  return PlannerChart(bars, title, aim).svg();
}

}  // namespace penstock::report
