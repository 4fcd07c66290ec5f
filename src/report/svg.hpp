#pragma once
// Pieces of SVG text. Private to the room.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "penstock/core/units.hpp"

namespace penstock::report {

/// Lengths in tenths of a pixel: whole numbers print equally on every machine.
using Tenths = std::int64_t;
inline constexpr Tenths kPixel = 10;

/// Colours of Okabe and Ito (Color Universal Design, 2008), without black; further kinds start over.
inline constexpr std::array<std::string_view, 7> kColours = {"#0072B2", "#E69F00", "#009E73", "#CC79A7",
                                                             "#D55E00", "#56B4E9", "#F0E442"};

/// Returns "12.3", "12" or "-.5": pixels with at most one decimal, for SVG paths.
std::string px(Tenths length);

/// Escapes text for XML; control characters become blanks.
std::string escaped(std::string_view text);

/// A line of text with its baseline at a pixel; `style` names classes of the style sheet.
std::string text_element(int x, int y, std::string_view style, std::string_view content);

/// Position of a part of `whole` on a line of this length. Divides first, then multiplies: no compiler can
/// fuse these, so rounding is equal everywhere.
struct LineScale {
  double whole;
  Tenths length;
  Tenths at(core::Picoseconds time) const { return at(static_cast<double>(time.value())); }
  Tenths at(core::Bytes size) const { return at(static_cast<double>(size.value())); }
  Tenths at(double part) const;
};

}  // namespace penstock::report
