#pragma once
// Lines and words of a text. Private to the room.

#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::cluster {

/// Words between blanks.
inline std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out(1);
  for (const char c : line)
    if (!std::isspace(static_cast<unsigned char>(c)))
      out.back() += c;
    else if (!out.back().empty())
      out.emplace_back();
  if (out.back().empty()) out.pop_back();
  return out;
}

/// [line] words, without the escapes of terminals such as underlines.
inline std::vector<std::vector<std::string>> lines_of_words(std::string_view text) {
  std::vector<std::vector<std::string>> out;
  std::string line;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || text[i] == '\n') {
      out.push_back(words_of(line));
      line.clear();
    } else if (text[i] == '\x1b') {
      while (i + 1 < text.size() && text[i] != 'm' && text[i + 1] != '\n') ++i;
    } else {
      line += text[i];
    }
  }
  return out;
}

/// A whole number from 0 on; nothing for other texts.
inline std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || end != text.data() + text.size() || number < 0) return {};
  return number;
}

/// True for GPU0, GPU1 and so on.
inline bool names_gpu(std::string_view word) {
  return word.starts_with("GPU") && whole_number(word.substr(3)).has_value();
}

}  // namespace penstock::cluster
