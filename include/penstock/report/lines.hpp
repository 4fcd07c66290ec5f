#pragma once
// Text as a terminal shows it: how wide it is, where it may be broken, what of it must not get there.

#include <string>
#include <string_view>
#include <vector>

namespace penstock::report {

/// How much room there is, and how a reader gets at what had none.
struct Screen {
  std::size_t width = 0;  ///< terminal cells; 0: as many as it takes, as in files
  std::string more;       ///< such as "--wide shows them"
};

/// Terminal cells that UTF-8 text takes: combining marks take none, East Asian wide characters two.
std::size_t display_width(std::string_view text);

/// Lines of at most `width` cells (1 or more), broken at blanks, which go; a longer word is cut. Leading
/// blanks stay. At least one line.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// Every line of `text` that is wider than `width` cells, wrapped; all others as they are. 0: none is.
std::string folded(std::string_view text, std::size_t width);

/// Control characters, line breaks among them, are blanks.
std::string in_one_line(std::string_view text);

/// The text with control characters but line feed and tab written as "\u001b", which JSON reads as the same,
/// and bytes that are no UTF-8 as U+FFFD: nothing in it commands a terminal.
std::string harmless(std::string_view text);

}  // namespace penstock::report
