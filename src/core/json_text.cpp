#include "penstock/core/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

namespace penstock::core {
namespace {

int line_of(std::string_view text, std::size_t byte) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, byte), '\n'));
}

}  // namespace

/// Exact for JSON; other text is checked up to its first syntax error, which is as far as parsers read.
void check_json_depth(std::string_view text, const std::string& file) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\')
      ++i;
    else if (c == '"')
      quoted = !quoted;
    else if (!quoted && (c == ']' || c == '}'))
      --depth;
    else if (!quoted && (c == '[' || c == '{') && ++depth > kDeepestJson)
      throw BadInput({file, line_of(text, i), ""},
                     fmt::format("nests deeper than {} levels (byte {})", kDeepestJson, i + 1));
  }
}

void check_json_keys(std::string_view text, const std::string& file) {
  // [level] keys of the objects that are open; empty for a list
  std::vector<std::set<std::string_view>> keys;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') keys.emplace_back();
    if ((c == '}' || c == ']') && !keys.empty()) keys.pop_back();
    if (c != '"') continue;
    const std::size_t begin = ++i;
    while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
    if (i >= text.size()) return;
    const std::size_t next = text.find_first_not_of(" \t\r\n", i + 1);
    if (next == text.npos || text[next] != ':' || keys.empty()) continue;
    const std::string_view key = text.substr(begin, i - begin);
    if (!keys.back().insert(key).second)
      throw BadInput({file, line_of(text, begin), std::string(key)}, "the key appears twice");
  }
}

/// Keeps the last part of "[...] parse error at line 1, column 2: syntax error while parsing value -
/// unexpected ...".
void refuse_json(std::string_view text, const std::string& file, std::size_t byte, std::string_view fault) {
  const std::size_t detail = fault.find(" - ");
  throw BadInput({file, line_of(text, byte), ""},
                 "not valid JSON" +
                     (detail == fault.npos ? std::string() : ": " + std::string(fault.substr(detail + 3))));
}

}  // namespace penstock::core
