#pragma once
// Text in a terminal: its width, its line breaks, and removal of harmful characters.

#include <string>
#include <string_view>
#include <vector>

namespace penstock::report {

/// Room on the screen, and a hint for readers on content that has none.
struct ScreenLimits {
  std::size_t width = 0;    ///< terminal cells; 0: unlimited, as in files
  std::string more;         ///< hint such as "--columns all shows them"
  std::size_t columns = 0;  ///< most columns of a table; 0: all, as in files
};

/// Terminal cells of UTF-8 text: combining marks take none, East Asian wide characters two.
std::size_t display_width(std::string_view text);

/// Splits text into lines of at most `width` cells (1 or more), at blanks, which are removed; a longer word
/// is cut. Leading blanks stay. Returns at least one line.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// Wraps every line of `text` that is wider than `width` cells; 0 wraps none.
std::string folded(std::string_view text, std::size_t width);

/// Replaces control characters, including line breaks, by blanks.
std::string in_one_line(std::string_view text);

/// Escapes control characters other than line feed and tab as "\u001b", which JSON reads as the same, and
/// replaces bytes that are not UTF-8 by U+FFFD. The result has no terminal commands.
std::string harmless(std::string_view text);

}  // namespace penstock::report
