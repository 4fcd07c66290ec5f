#include "penstock/core/spelling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "penstock/core/error.hpp"

namespace penstock::core {
namespace {

/// Levenshtein distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

/// Letters and digits in lower case: "Megatron-LM" becomes "megatronlm".
std::string bare(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// The longest known name of at least four letters within the given one; "" where there is none.
std::string contained(std::string_view given, const std::vector<std::string>& known) {
  constexpr std::size_t kLeast = 4;
  const std::string text = bare(given);
  std::string out;
  for (const std::string& name : known)
    if (const std::string inside = bare(name);
        inside.size() >= kLeast && inside.size() > bare(out).size() && text.find(inside) != text.npos)
      out = name;
  return out;
}

}  // namespace

std::string did_you_mean(std::string_view given, const std::vector<std::string>& known) {
  const auto near = std::ranges::min_element(
      known, {}, [given](const std::string& name) { return edit_distance(given, name); });
  if (near != known.end() && given.size() < 64 && edit_distance(given, *near) <= 2)
    return fmt::format("did you mean '{}'?", *near);
  return fmt::format("expected one of {}", fmt::join(known, ", "));
}

std::string did_you_mean_name(std::string_view given, const std::vector<std::string>& known) {
  std::string by_letters = did_you_mean(given, known);
  const std::string text = bare(given);
  if (by_letters.starts_with("did you mean")) return by_letters;
  const auto near = std::ranges::find_if(known, [&](const std::string& name) {
    return text.size() < 64 && edit_distance(text, bare(name)) <= 1;
  });
  const std::string meant = near != known.end() ? *near : contained(given, known);
  return meant.empty() ? by_letters : fmt::format("did you mean '{}'?", meant);
}

std::size_t index_of(std::string_view given, std::span<const std::string_view> known, std::string_view what) {
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i] == given) return i;
  throw BadInput("unknown " + std::string(what) + " '" + std::string(given) + "'; " +
                 did_you_mean(given, {known.begin(), known.end()}));
}

}  // namespace penstock::core
