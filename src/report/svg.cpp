#include "svg.hpp"

#include <fmt/format.h>

#include <cmath>

namespace penstock::report {

std::string px(Tenths length) {
  const Tenths size = length < 0 ? -length : length;
  std::string out = length < 0 ? "-" : "";
  if (size == 0 || size >= kPixel) out += std::to_string(size / kPixel);
  if (size % kPixel == 0) return out;
  out += '.';
  out += static_cast<char>('0' + size % kPixel);
  return out;
}

std::string escaped(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"";
  constexpr std::string_view kEntities[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
  std::string out;
  for (const char c : text) {
    const std::size_t i = kSpecial.find(c);
    if (i != kSpecial.npos) {
      out += kEntities[i];
    } else {
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

std::string text_element(int x, int y, std::string_view style, std::string_view content) {
  return fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\">{}</text>\n", x, y, style, escaped(content));
}

Tenths LineScale::at(double part) const {
  if (whole <= 0) return 0;
  const double share = part / whole;
  return std::llround(share * static_cast<double>(length));
}

}  // namespace penstock::report
