#include "penstock/report/table.hpp"

#include <algorithm>

#include "penstock/core/error.hpp"

namespace penstock::report {
namespace {

struct Range {
  char32_t first, last;
};

constexpr Range kZeroWidth[] = {{0x300, 0x36f},   {0x1ab0, 0x1aff}, {0x200b, 0x200f}, {0x20d0, 0x20ff},
                                {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}};
constexpr Range kWide[] = {{0x1100, 0x115f}, {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
                           {0xf900, 0xfaff}, {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                           {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};

template <std::size_t N>
bool within(char32_t c, const Range (&ranges)[N]) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [c](Range r) { return r.first <= c && c <= r.last; });
}

/// Takes the next character off the front; a broken sequence counts byte by byte.
char32_t next_character(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t c = length == 1 ? lead : lead & (0x7fu >> length);
  std::size_t used = 1;
  for (; used < std::min(length, text.size()) && (byte(used) & 0xc0) == 0x80; ++used)
    c = c << 6 | (byte(used) & 0x3f);
  if (used < length) c = U'?', used = 1;
  text.remove_prefix(used);
  return c;
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

/// What stands before, between and after the cells of a line.
struct Edges {
  std::string_view left, between, right;
};

std::string line(const Edges& edges, const std::vector<std::string>& cells) {
  std::string out(edges.left);
  for (std::size_t c = 0; c < cells.size(); ++c) out += (c > 0 ? std::string(edges.between) : "") + cells[c];
  out += edges.right;
  out.erase(out.find_last_not_of(' ') + 1);
  return out + '\n';
}

std::string padded(const std::string& cell, std::size_t width, Align align) {
  const std::string blanks(width - display_width(cell), ' ');
  return align == Align::right ? blanks + cell : cell + blanks;
}

std::vector<std::string> dashes(std::string_view dash, const std::vector<std::size_t>& widths) {
  std::vector<std::string> out;
  for (const std::size_t width : widths) out.push_back(repeated(dash, width));
  return out;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const char32_t c = next_character(text);
    if (!within(c, kZeroWidth)) width += within(c, kWide) ? 2 : 1;
  }
  return width;
}

void Table::add(std::vector<std::string> cells) {
  core::require(cells.size() == columns_.size(), "a table row has one cell per column");
  for (std::string& cell : cells)
    std::replace_if(
        cell.begin(), cell.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  rows_.push_back(std::move(cells));
}

std::string Table::text(Border border) const {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    titles.push_back(columns_[c].title);
    widths.push_back(display_width(titles[c]));
    for (const auto& row : rows_) widths[c] = std::max(widths[c], display_width(row[c]));
  }
  const bool box = border == Border::box;
  const Edges plain = box ? Edges{"│ ", " │ ", " │"} : Edges{"", "  ", ""};
  const auto laid_out = [&](std::vector<std::string> cells) {
    for (std::size_t c = 0; c < cells.size(); ++c) cells[c] = padded(cells[c], widths[c], columns_[c].align);
    return line(plain, cells);
  };
  const auto dash = dashes(box ? "─" : "-", widths);
  std::string out = box ? line({"┌─", "─┬─", "─┐"}, dash) : "";
  out += laid_out(titles) + line(box ? Edges{"├─", "─┼─", "─┤"} : plain, dash);
  for (const auto& row : rows_) out += laid_out(row);
  return box ? out + line({"└─", "─┴─", "─┘"}, dash) : out;
}

}  // namespace penstock::report
