#include "node_search.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace penstock::experiment {
namespace {

/// True if all set bits lie within a window of `bits`.
bool short_enough(int count, int bits) {
  const auto value = static_cast<unsigned>(count);
  return static_cast<int>(std::bit_width(value)) - std::countr_zero(value) <= bits;
}

/// Counts from `low` to `high` of at most so many significant bits, ascending.
std::vector<int> short_counts(int low, int high, int bits) {
  std::vector<int> out;
  for (int count = low; count <= high; ++count)
    if (short_enough(count, bits)) out.push_back(count);
  return out;
}

}  // namespace

std::optional<int> least_nodes(int first, int most, const std::function<bool(int)>& enough) {
  constexpr int kCoarse = 2, kFine = 4;
  std::vector<int> ladder = short_counts(1, most, kCoarse);
  if (ladder.back() != most) ladder.push_back(most);
  auto at = std::min(std::ranges::lower_bound(ladder, first), std::prev(ladder.end()));
  int low = 0, high = 0;  // not enough, enough
  if (enough(*at)) {
    for (high = *at; low == 0 && at != ladder.begin();) enough(*--at) ? high = *at : low = *at;
  } else {
    for (low = *at; high == 0 && ++at != ladder.end();) enough(*at) ? high = *at : low = *at;
    if (high == 0) return {};
  }
  for (std::vector<int> between = short_counts(low + 1, high - 1, kFine); !between.empty();) {
    const auto middle = between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2);
    if (enough(*middle)) {
      high = *middle;
      between.erase(middle, between.end());
    } else {
      between.erase(between.begin(), std::next(middle));
    }
  }
  return high;
}

std::optional<int> next_lower_count(int nodes) {
  constexpr int kFine = 4;
  for (int count = nodes - 1; count >= 1; --count)
    if (short_enough(count, kFine)) return count;
  return {};
}

}  // namespace penstock::experiment
