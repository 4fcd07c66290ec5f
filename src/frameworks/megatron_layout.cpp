#include "penstock/frameworks/megatron_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "penstock/core/error.hpp"

namespace penstock::frameworks {
namespace {

constexpr std::size_t kLongest = 65'536;  // letters

[[noreturn]] void fail(std::string_view text, const std::string& why) {
  throw core::BadInput(fmt::format("layout '{}': {}", text.substr(0, 200), why));
}

/// One, two, then t*3: as short as it can be read.
std::string repeated(char letter, std::int64_t count) {
  return count < 3 ? std::string(static_cast<std::size_t>(count), letter)
                   : fmt::format("{}*{}", letter, count);
}

std::string written(const StageLayers& stage) {
  return (stage.embedding ? "E" : "") + repeated('t', stage.layers) + repeated('m', stage.predictors) +
         (stage.loss ? "L" : "");
}

/// The count of a `*n` that begins at `at`, which moves behind it; 1 where there is none.
std::size_t take_count(std::string_view text, std::size_t& at) {
  if (at >= text.size() || text[at] != '*') return 1;
  std::size_t count = 0;
  const char* begin = text.data() + at + 1;
  const auto [end, fault] = std::from_chars(begin, text.data() + text.size(), count);
  if (fault != std::errc()) fail(text, "expected a number behind '*'");
  at += static_cast<std::size_t>(end - begin) + 1;
  return count;
}

void repeat(std::string& out, std::string_view part, std::size_t count, std::string_view text) {
  if (count > kLongest || out.size() + part.size() * count > kLongest)
    fail(text, fmt::format("more than {} letters", kLongest));
  for (std::size_t i = 0; i < count; ++i) out += part;
}

/// `(x)*n` written out; what is inside has no brackets.
std::string without_brackets(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text[at] == '(' ? text.find(')', at) : at;
    if (end == text.npos) fail(text, "a bracket is not closed");
    const std::string_view part = text[at] == '(' ? text.substr(at + 1, end - at - 1) : text.substr(at, 1);
    const bool brackets = text[at] == '(';
    at = end + 1;
    if (brackets && (at == text.size() || text[at] != '*'))
      fail(text, "expected '*' and a number behind a bracket");
    repeat(out, part, brackets ? take_count(text, at) : 1, text);
  }
  return out;
}

std::string without_counts(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view letter = text.substr(at++, 1);
    repeat(out, letter, take_count(text, at), text);
  }
  return out;
}

StageLayers stage_of(std::string_view letters, std::string_view text) {
  constexpr std::string_view kOrder = "EtmL";
  for (const char letter : letters)
    if (kOrder.find(letter) == kOrder.npos) fail(text, fmt::format("'{}' is none of E, t, m, L", letter));
  const auto before = [&](char a, char b) { return kOrder.find(a) < kOrder.find(b); };
  if (!std::is_sorted(letters.begin(), letters.end(), before))
    fail(text, fmt::format("stage '{}' is out of the order E, t, m, L", letters));
  StageLayers out;
  const auto count = [&](char letter) { return std::ranges::count(letters, letter); };
  if (count('E') > 1 || count('L') > 1) fail(text, "a stage has one E and one L at most");
  return {count('E') == 1, count('t'), count('m'), count('L') == 1};
}

}  // namespace

std::string to_layout(const std::vector<StageLayers>& stages) {
  std::string out;
  for (std::size_t s = 0; s < stages.size();) {
    // A run of equal stages, each with a bar behind it: the last stage of all has none.
    std::size_t end = s + 1;
    while (end + 1 < stages.size() && stages[end] == stages[s]) ++end;
    const std::string stage = written(stages[s]);
    const bool run = end - s > 1;
    out += run ? fmt::format("({}|)*{}", stage, end - s) : stage;
    if (run && end < stages.size()) out += ',';
    if (!run && end < stages.size()) out += '|';
    s = end;
  }
  return out;
}

std::vector<StageLayers> parse_layout(std::string_view text) {
  std::string bare(text);
  std::erase(bare, ',');
  const std::string letters = without_counts(without_brackets(bare));
  std::vector<StageLayers> out;
  for (std::size_t from = 0; from <= letters.size();) {
    const std::size_t bar = std::min(letters.find('|', from), letters.size());
    out.push_back(stage_of(std::string_view(letters).substr(from, bar - from), text));
    from = bar + 1;
  }
  const auto with = [&](auto member) { return std::ranges::count(out, true, member); };
  if (!out.front().embedding || with(&StageLayers::embedding) != 1)
    fail(text, "E must appear once, at the beginning");
  if (!out.back().loss || with(&StageLayers::loss) != 1) fail(text, "L must appear once, at the end");
  return out;
}

}  // namespace penstock::frameworks
