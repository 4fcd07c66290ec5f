#include "penstock/report/claim_map.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "numbers.hpp"
#include "penstock/core/error.hpp"
#include "svg.hpp"

namespace penstock::report {
namespace {

constexpr int kField = 46, kRow = 22, kLabel = 64, kTop = 66, kPanelHead = 22, kPanelFoot = 24, kGap = 18,
              kLetter = 7;  // maximum, for 12 pixels
/// Ratio to `even`, or its inverse, with the full colour.
constexpr double kFullColour = 2;
using Colour = std::array<double, 3>;
/// Orange and blue of Okabe and Ito (Color Universal Design, 2008).
constexpr Colour kAbove = {230, 159, 0}, kBelow = {0, 114, 178};

/// Texts of a column in these rows: ascending if all are numbers, otherwise in their order.
class AxisLabels {
 public:
  void add(const std::string& text) {
    if (std::find(texts_.begin(), texts_.end(), text) == texts_.end()) texts_.push_back(text);
  }
  void order() {
    const auto numeric = [](const std::string& text) { return number(text).has_value(); };
    if (std::all_of(texts_.begin(), texts_.end(), numeric))
      std::sort(texts_.begin(), texts_.end(),
                [](const auto& a, const auto& b) { return *number(a) < *number(b); });
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
};

struct MapPanel {
  AxisLabels across, up;
  std::map<std::pair<std::string, std::string>, double> values;  ///< {across, up}
};

std::string fill(double value, std::optional<double> even) {
  if (!even || !(*even > 0) || !(value > 0)) return "#FFF";
  const double share = std::clamp(std::log(value / *even) / std::log(kFullColour), -1.0, 1.0);
  const Colour& full = share > 0 ? kAbove : kBelow;
  const auto mixed = [&](double part) {
    return static_cast<int>(std::lround(255 + (part - 255) * std::abs(share)));
  };
  return fmt::format("#{:02X}{:02X}{:02X}", mixed(full[0]), mixed(full[1]), mixed(full[2]));
}

class MapDrawing {
 public:
  MapDrawing(const Claim& claim, const TextRows& rows) : claim_(claim), map_(*claim.map) {
    for (const ClaimValue& value : values(claim, rows)) place(rows, value);
    core::require(!panels_.empty() || rows_.texts().empty(), "a value has a panel");
    rows_.order();
    columns_.order();
    for (auto& [at, panel] : panels_) {
      panel.across.order();
      panel.up.order();
    }
  }

  std::string svg() const {
    int width = 2 * kGap, height = kTop;
    std::string panels;
    for (const std::string& row : rows_.texts()) {
      int x = kGap, tallest = 0;
      for (const std::string& column : columns_.texts()) {
        const auto [drawn, wide] = panel(row, column, x, height);
        panels += drawn;
        x += wide;
        tallest = std::max(tallest, panel_height(row, column));
      }
      width = std::max(width, x);
      height += tallest;
    }
    width = std::max(width, kGap + kLetter * static_cast<int>(std::max(claim_.what.size(), legend().size())));
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
               "{1}\">\n<style>text{{font:12px "
               "sans-serif;fill:#222}}.title{{font-size:15px}}.tick{{fill:#555}}"
               ".right{{text-anchor:end}}.middle{{text-anchor:middle}}rect{{stroke:#DDD}}"
               ".holds{{stroke:#222;stroke-width:2;fill:none}}</style>\n"
               "<rect width=\"100%\" height=\"100%\" fill=\"#FFF\"/>\n",
               width, height) +
           text_element(kGap, 22, "title", claim_.what) + text_element(kGap, 42, "tick", legend()) + panels +
           "</svg>\n";
  }

 private:
  void place(const TextRows& rows, const ClaimValue& value) {
    const auto cell = [&](const std::string& column) { return text_of(rows, value.row, column); };
    const std::string row = map_.panels.empty() ? "" : cell(map_.panels[0]),
                      column = map_.panels.size() < 2 ? "" : cell(map_.panels[1]);
    rows_.add(row);
    columns_.add(column);
    MapPanel& panel = panels_[{row, column}];
    const std::string across = cell(map_.across), up = cell(map_.up);
    panel.across.add(across);
    panel.up.add(up);
    if (!panel.values.emplace(std::pair(across, up), value.value).second)
      throw core::BadInput(
          fmt::format("two values at {} {}, {} {}: select fewer rows", map_.across, across, map_.up, up));
  }

  std::string legend() const {
    return fmt::format("across: {}; up: {}; framed: as the paper states, {}{}", map_.across, map_.up,
                       text(claim_.paper),
                       claim_.tolerance > 0 ? fmt::format(" within {:g} %", 100 * claim_.tolerance) : "");
  }

  std::string head(const std::string& row, const std::string& column) const {
    std::vector<std::string> words;
    if (!map_.panels.empty()) words.push_back(row);
    if (map_.panels.size() > 1) words.push_back(map_.panels[1] + " " + column);
    return fmt::format("{}", fmt::join(words, ", "));
  }

  int panel_height(const std::string& row, const std::string& column) const {
    const auto found = panels_.find({row, column});
    if (found == panels_.end()) return 0;
    return kPanelHead + kRow * static_cast<int>(found->second.up.texts().size()) + kPanelFoot + kGap;
  }

  /// Returns the panel and its width.
  std::pair<std::string, int> panel(const std::string& row, const std::string& column, int left,
                                    int top) const {
    const auto found = panels_.find({row, column});
    if (found == panels_.end()) return {"", 0};
    const MapPanel& panel = found->second;
    const auto &across = panel.across.texts(), &up = panel.up.texts();
    const int x = left + kLabel, y = top + kPanelHead, height = kRow * static_cast<int>(up.size());
    std::string out = text_element(x, top + 14, "", head(row, column)), frames;
    for (std::size_t j = 0; j < up.size(); ++j) {
      const int at = y + height - kRow * static_cast<int>(j + 1);
      out += text_element(x - 6, at + 15, "tick right", up[j]);
      for (std::size_t i = 0; i < across.size(); ++i)
        field(panel, across[i], up[j], x + kField * static_cast<int>(i), at, out, frames);
    }
    for (std::size_t i = 0; i < across.size(); ++i)
      out += text_element(x + kField * static_cast<int>(i) + kField / 2, y + height + 15, "tick middle",
                          short_label(across[i]));
    const int fields = kField * static_cast<int>(across.size());
    return {out + frames,
            kLabel + std::max(fields, kLetter * static_cast<int>(head(row, column).size())) + kGap};
  }

  void field(const MapPanel& panel, const std::string& across, const std::string& up, int x, int y,
             std::string& out, std::string& frames) const {
    const auto found = panel.values.find({across, up});
    const bool known = found != panel.values.end();
    out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>\n", x, y, kField,
                       kRow, known ? fill(found->second, claim_.even) : "#EEE");
    out += text_element(x + kField / 2, y + 15, "middle", known ? fmt::format("{:.2f}", found->second) : "-");
    if (known && holds(claim_, found->second))
      frames += fmt::format("<rect class=\"holds\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", x + 1,
                            y + 1, kField - 2, kRow - 2);
  }

  /// Label under a field: a long name is shortened to its first letters.
  static std::string short_label(const std::string& label) {
    constexpr std::size_t kMost = 7;
    const std::string first = label.substr(0, label.find('/'));
    return first.size() > kMost ? first.substr(0, kMost - 1) + "." : first;
  }

  const Claim& claim_;
  const ClaimMap& map_;
  AxisLabels rows_, columns_;
  std::map<std::pair<std::string, std::string>, MapPanel> panels_;  ///< {row, column}
};

}  // namespace

std::string map_file(std::size_t claim) {
  return fmt::format("claim_{}.svg", claim + 1);
}

std::string claim_map_svg(const Claim& claim, const TextRows& rows) {
  core::require(claim.map.has_value(), "a picture is drawn of claims that have a map");
  return MapDrawing(claim, rows).svg();
}

}  // namespace penstock::report
