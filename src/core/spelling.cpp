#include "penstock/core/spelling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

}  // namespace

std::string did_you_mean(std::string_view given, const std::vector<std::string>& known) {
  const auto near = std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return edit_distance(given, a) < edit_distance(given, b);
  });
  if (near != known.end() && given.size() < 64 && edit_distance(given, *near) <= 2)
    return fmt::format("did you mean '{}'?", *near);
  return fmt::format("expected one of {}", fmt::join(known, ", "));
}

std::size_t index_of(std::string_view given, std::span<const std::string_view> known, std::string_view what) {
  for (std::size_t i = 0; i < known.size(); ++i)
    if (known[i] == given) return i;
  throw BadInput("unknown " + std::string(what) + " '" + std::string(given) + "'; " +
                 did_you_mean(given, {known.begin(), known.end()}));
}

}  // namespace penstock::core
