#include "penstock/report/lines.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock::report {
namespace {

struct CodeRange {
  char32_t first, last;
};

constexpr CodeRange kZeroWidth[] = {{0x300, 0x36f},   {0x1ab0, 0x1aff}, {0x200b, 0x200f}, {0x20d0, 0x20ff},
                                    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}};
constexpr CodeRange kWide[] = {{0x1100, 0x115f}, {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
                               {0xf900, 0xfaff}, {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                               {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};

template <std::size_t N>
bool within(char32_t c, const CodeRange (&ranges)[N]) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [c](CodeRange r) { return r.first <= c && c <= r.last; });
}

struct Utf8Character {
  char32_t code;
  std::size_t bytes;
  bool broken = false;  ///< one byte of invalid UTF-8
  std::size_t width() const {
    if (code < kZeroWidth[0].first) return 1;
    return within(code, kZeroWidth) ? 0 : within(code, kWide) ? 2 : 1;
  }
};

/// First character of `text`, which must not be empty. Overlong forms are invalid, because some terminals
/// would accept them.
Utf8Character character(std::string_view text) {
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  char32_t c = lead & (0x7fu >> length);
  std::size_t used = 1;
  for (; used < std::min(length, text.size()) && (byte(used) & 0xc0) == 0x80; ++used)
    c = c << 6 | (byte(used) & 0x3f);
  const bool right = length > 1 && used == length && c >= kLeast[length] && c <= 0x10ffff;
  return right ? Utf8Character{c, length} : Utf8Character{U'?', 1, true};
}

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

/// Number of bytes of `text` that fit in `width` cells; at least one character.
std::size_t fitting(std::string_view text, std::size_t width) {
  std::size_t used = 0, cells = 0;
  while (used < text.size()) {
    const Utf8Character next = character(text.substr(used));
    if (used > 0 && cells + next.width() > width) break;
    used += next.bytes;
    cells += next.width();
  }
  return used;
}

/// Concatenates shown(character, its bytes) for all characters.
template <class Shown>
std::string by_character(std::string_view text, const Shown& shown) {
  std::string out;
  while (!text.empty()) {
    const Utf8Character next = character(text);
    out += shown(next, text.substr(0, next.bytes));
    text.remove_prefix(next.bytes);
  }
  return out;
}

/// True before the sign of "18.7 %", which belongs to its number.
bool before_percent(std::string_view text, std::size_t blank) {
  return text.substr(blank).starts_with(" %");
}

/// The last blank up to `end` that may end a line.
std::size_t last_break(std::string_view text, std::size_t end) {
  std::size_t blank = text.rfind(' ', end);
  while (blank != text.npos && blank > 0 && before_percent(text, blank)) blank = text.rfind(' ', blank - 1);
  return blank;
}

std::size_t past_blanks(std::string_view text, std::size_t from) {
  return std::min(text.find_first_not_of(' ', from), text.size());
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Utf8Character next = character(text);
    width += next.width();
    text.remove_prefix(next.bytes);
  }
  return width;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (lines.empty() || !text.empty()) {
    const std::size_t indent = lines.empty() ? past_blanks(text, 0) : 0;
    std::size_t end = fitting(text, width);
    if (end < text.size() && (text[end] != ' ' || before_percent(text, end))) {
      const std::size_t blank = last_break(text, end);
      if (blank != std::string_view::npos && blank > indent) end = blank;
    }
    std::string line(text.substr(0, end));
    if (end < text.size()) line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
    text.remove_prefix(end < text.size() ? past_blanks(text, end) : end);
  }
  return lines;
}

std::string folded(std::string_view text, std::size_t width) {
  if (width == 0) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    for (const std::string& line : wrapped(text.substr(0, end), width))
      out += (out.empty() || out.back() == '\n' ? "" : "\n") + line;
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string in_one_line(std::string_view text) {
  return by_character(text, [](const Utf8Character& c, std::string_view bytes) {
    return is_control(c.code) ? " " : std::string(bytes);
  });
}

std::string harmless(std::string_view text) {
  return by_character(text, [](const Utf8Character& c, std::string_view bytes) {
    if (c.broken) return std::string("\ufffd");
    const bool shown = !is_control(c.code) || c.code == '\n' || c.code == '\t';
    return shown ? std::string(bytes) : fmt::format("\\u{:04x}", static_cast<unsigned>(c.code));
  });
}

}  // namespace penstock::report
