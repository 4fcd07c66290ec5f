#pragma once
// Variables of a bash script, and words with their values put in.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shell_tokens.hpp"

namespace penstock::frameworks::shell {

/// A word after expansion.
struct Field {
  struct LineMark {
    std::size_t begin;  ///< of the text from here on
    int line;
  };
  std::string text;
  int line = 0;        ///< where its text is, not where a variable is used
  bool unset = false;  ///< only a variable that the script sets nowhere: its text is the variable as written
  std::vector<LineMark> marks{};  ///< of a text of several lines, in order
  int line_at(std::size_t letter) const;
  bool operator==(const Field& other) const { return text == other.text && unset == other.unset; }
};

/// One of the values that a variable has, by the branch taken.
struct Choice {
  std::vector<Field> words{};  ///< one of a scalar
  bool array = false;
  bool set = true;
  int line = 0;      ///< where the branch sets it
  int against = 0;   ///< where the first choice is set; 0: this is the first
  std::string by{};  ///< variable that the branch sets
  bool same(const Choice& other) const {
    return array == other.array && set == other.set && words == other.words;
  }
};
using Variables = std::map<std::string, std::vector<Choice>, std::less<>>;
/// [variable] which of its choices counts; 0 where there is no entry.
using Picks = std::map<std::string, std::size_t, std::less<>>;

class Expander {
 public:
  Expander(const Variables& variables, Picks picks, std::string file)
      : variables_(variables), picks_(std::move(picks)), file_(std::move(file)) {}

  /// Adds the fields of a word: unquoted values are split at spaces.
  void add(const Token& word);
  std::vector<Field> fields();
  /// The word as one text: as in an assignment or a test.
  Field field(const Token& word);
  std::string text(const Token& word) { return field(word).text; }

  std::set<std::string, std::less<>> choices;                 ///< variables of several choices that were used
  bool unset_used = false;                                    ///< a variable that the script sets nowhere
  bool opaque = false;                                        ///< what only a shell computes: $(command)
  std::string array_fault;                                    ///< an array used as a scalar
  std::vector<std::pair<std::string, std::string>> assigned;  ///< by ${NAME:=value}

 private:
  void expand(std::string_view raw, bool quoted);
  std::size_t dollar(std::string_view raw, std::size_t at, bool quoted);
  void braces(std::string_view inner, std::string_view raw, bool quoted);
  void arithmetic(std::string_view inner, std::string_view raw);
  const Choice* find(std::string_view name);
  void insert(std::string_view name, std::string_view raw, bool all, bool quoted);
  void put(const Field& field, bool quoted);
  void raw_text(std::string_view raw, bool unset);
  void letter(char c);
  void begin();
  void end();

  const Variables& variables_;
  Picks picks_;
  std::string file_;
  std::vector<Field> out_;
  std::optional<Field> now_;
  std::size_t letters_ = 0;
  int line_ = 0;
  int levels_ = 0;
  bool one_ = false;  ///< no splitting
};

/// Nothing where it is no sum, product, quotient, remainder or comparison of whole numbers.
std::optional<std::int64_t> arithmetic_value(
    std::string_view text, const std::function<std::optional<std::int64_t>(std::string_view)>& value_of);

std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace penstock::frameworks::shell
