#pragma once
// The one way to standard output and standard error. Nothing from outside that goes there commands a
// terminal.

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "penstock/report/table.hpp"

namespace penstock::cli {

/// Must be called first of all. A file opened later then never takes the place of a standard stream that is
/// closed, and a reader that went away ends no run.
void guard_streams();

/// Results, on standard output. What cannot be written shows in output_arrived; a reader that went away ends
/// the program, as it does other programs.
void print(std::string_view text);

/// False when some of what was printed could not be written, as on a full disk.
bool output_arrived();

/// Messages, on standard error, after all that was printed before. Never fails: there may be no reader.
void say(std::string_view text);
void warn(std::string_view text);  ///< "penstock: warning: TEXT" on a line

/// A line on a terminal's standard error in place of the last one; it ends with `last`, or before anything
/// else is written.
void say_in_place(std::string_view text, bool last);
void end_line_in_place();  ///< ends it now, if there is one
bool terminal_hears();     ///< standard error is a terminal

/// Columns of a table that a command prints without --columns all.
inline constexpr std::size_t kMainColumns = 7;

/// Room for tables: COLUMNS, or else the terminal's width; any width where standard output is no terminal.
/// kMainColumns columns.
report::ScreenLimits screen();

/// Width of running text: that of the screen, or 80 where there is no terminal.
std::size_t text_width(const report::ScreenLimits& screen);

/// --columns and --wide.
struct WideFlag {
  bool wide = false;
  std::string columns = "main";
  void add(CLI::App& command);
  report::ScreenLimits screen() const;
};

/// print, with lines that are too wide for the screen folded at blanks, and tables in colour (colour.hpp).
void print_page(std::string_view text, const report::ScreenLimits& screen);

}  // namespace penstock::cli
