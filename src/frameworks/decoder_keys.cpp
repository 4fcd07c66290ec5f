#include "decoder_keys.hpp"

#include <fmt/format.h>

#include <sstream>

namespace penstock::frameworks {
namespace {

constexpr std::int64_t kMostValue = (std::int64_t{1} << 31) - 1;

}  // namespace

std::vector<SplitWord> split_words(std::string_view text, std::string_view marks) {
  std::vector<SplitWord> out;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const std::size_t at = word.find_first_of(marks);
    if (at == word.npos)
      out.push_back({word, 0, ""});
    else
      out.push_back({word.substr(0, at), word[at], word.substr(at + 1)});
  }
  return out;
}

DecoderKeys::DecoderKeys(ConfigKeys& keys, const DecoderRow& row, std::optional<std::int64_t> tokens,
                         std::map<std::string, std::string>& out)
    : keys_(keys), tokens_(tokens), out_(out) {
  for (const SplitWord& word : split_words(row.defaults, "=")) defaults_[word.first] = word.second;
  for (const SplitWord& word : split_words(row.aliases, "=")) aliases_.emplace(word.first, word.second);
}

/// The name under which the config has the key, or "". Two names with unequal values are refused.
std::string DecoderKeys::present_name(std::string_view key) {
  std::string found = keys_.states(key) ? std::string(key) : "";
  const auto [begin, end] = aliases_.equal_range(key);
  for (auto other = begin; other != end; ++other) {
    if (!keys_.states(other->second)) continue;
    if (found.empty()) {
      found = other->second;
      continue;
    }
    const auto first = keys_.find(found), second = keys_.find(other->second);
    if (first.has_value() != second.has_value() || (first && first->scalar() != second->scalar()))
      keys_.fail(other->second, fmt::format("is another name for {}, which has another value", found));
  }
  return found;
}

std::optional<core::Yaml> DecoderKeys::given(std::string_view key) {
  const std::string name = present_name(key);
  return name.empty() ? std::nullopt : keys_.find(name);
}

std::optional<std::string> DecoderKeys::value(std::string_view key) {
  if (!present_name(key).empty()) {
    const auto node = given(key);
    return node ? std::optional(node->text()) : std::nullopt;
  }
  const auto usual = defaults_.find(key);
  return usual == defaults_.end() || usual->second == "null" ? std::nullopt : std::optional(usual->second);
}

std::optional<std::int64_t> DecoderKeys::count(std::string_view key) {
  if (const auto node = given(key)) return node->integer(0, kMostValue);
  const auto usual = value(key);
  return usual ? std::optional<std::int64_t>(std::stoll(*usual)) : std::nullopt;
}

std::int64_t DecoderKeys::needed(std::string_view key) {
  const auto found = count(key);
  if (!found) keys_.fail(key, "expected a number");
  if (*found < 1) keys_.fail(key, "expected a number from 1 on");
  return *found;
}

bool DecoderKeys::flag(std::string_view key) {
  if (const auto node = given(key)) return node->flag();
  return value(key) == "true";
}

bool DecoderKeys::knows(std::string_view key) {
  return !present_name(key).empty() || defaults_.contains(key);
}

void DecoderKeys::pass(std::string_view names) {
  for (const SplitWord& word : split_words(names, " ")) present_name(word.first);
}

std::optional<std::vector<std::string>> DecoderKeys::layer_list(std::string_view key) {
  const auto node = given(key);
  if (!node) return {};
  std::vector<std::string> out;
  for (const core::Yaml& item : node->items()) out.push_back(item.text());
  if (std::ssize(out) != layers())
    node->fail(fmt::format("expected {} entries, one for each layer, not {}", layers(), out.size()));
  return out;
}

}  // namespace penstock::frameworks
