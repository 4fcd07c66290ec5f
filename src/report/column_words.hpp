#pragma once
// How columns of results are called and shown: by the page and by tables of chosen columns. Private to the
// room.

#include <span>
#include <string>
#include <string_view>

namespace penstock::report {

/// `kind` says how a value is shown (page/values.js, column_choice.cpp). A narrow page drops columns of the
/// highest priority number first, so what tells rows apart has low ones; from kDetailColumn on they are in a
/// row's own section alone.
struct ColumnWords {
  std::string_view name, title, kind;
  int priority;
  std::string_view meaning;
};
inline constexpr int kDetailColumn = 100;

std::span<const ColumnWords> plan_words();
std::span<const ColumnWords> schedule_words();
/// Null for a name without words.
const ColumnWords* words_of(std::span<const ColumnWords> words, std::string_view name);
/// "zero_stage" without words of its own is "Zero stage".
std::string title_of(std::span<const ColumnWords> words, std::string_view name);

}  // namespace penstock::report
