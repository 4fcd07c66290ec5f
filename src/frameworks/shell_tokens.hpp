#pragma once
// Cuts a bash script into words, operators and bodies of here-documents. Nothing is expanded yet.

#include <string>
#include <string_view>
#include <vector>

namespace penstock::frameworks::shell {

struct Token {
  enum class Kind { word, array, arithmetic, op, newline, here_document };
  Kind kind = Kind::word;
  std::string text;            ///< as written, with its quotes; "NAME=" or "NAME+=" of an array
  int line = 0;                ///< from 1 on
  std::vector<Token> items{};  ///< of an array
};

/// Throws BadInput naming file and line for a quote, bracket or array that is not closed, and for arrays
/// inside each other.
std::vector<Token> tokens_of(std::string_view text, const std::string& file);

/// Where the quote, substitution or escape that begins at `at` ends: one behind its last character. `at + 1`
/// for any other character; npos where it is not closed.
std::size_t end_of_part(std::string_view text, std::size_t at);

bool is_name(std::string_view text);

}  // namespace penstock::frameworks::shell
