#pragma once
// Names and formats of result columns, for the page and tables of chosen columns. Private to the room.

#include <span>
#include <string>
#include <string_view>

namespace penstock::report {

/// `kind`: format of a value (page/values.js, column_choice.cpp). A narrow page drops columns with the
/// highest priority number first, so columns that identify rows have low ones. Columns from kDetailColumn on
/// appear only in a row's section.
struct ColumnWords {
  std::string_view name, title, kind;
  int priority;
  std::string_view meaning;
};
inline constexpr int kDetailColumn = 100;

std::span<const ColumnWords> plan_words();
std::span<const ColumnWords> schedule_words();
/// Returns null for a name without words.
const ColumnWords* words_of(std::span<const ColumnWords> words, std::string_view name);
/// Title of a column; without words "zero_stage" becomes "Zero stage".
std::string title_of(std::span<const ColumnWords> words, std::string_view name);

}  // namespace penstock::report
