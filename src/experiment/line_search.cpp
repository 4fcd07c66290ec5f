#include "line_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock::experiment {

/// Golden section search (Kiefer, 1953), after a first scan at equal distances, because the mean of many
/// absolute errors has several local minima.
double least_error(const SearchRange& range, const std::function<double(double)>& error) {
  constexpr double kGolden = 0.6180339887498949;
  int best = 0;
  double least = error(range.first);
  for (int step = 1; step <= range.steps; ++step)
    if (const double here = error(range.first + step * range.step); here < least) least = here, best = step;
  double low = range.first + std::max(0, best - 1) * range.step, high = range.first + (best + 1) * range.step;
  double a = high - (high - low) * kGolden, b = low + (high - low) * kGolden;
  double at_a = error(a), at_b = error(b);
  for (int round = 0; round < range.rounds; ++round)
    if (at_a <= at_b) {  // the minimum lies below b
      high = std::exchange(b, a), at_b = at_a;
      at_a = error(a = high - (high - low) * kGolden);
    } else {
      low = std::exchange(a, b), at_a = at_b;
      at_b = error(b = low + (high - low) * kGolden);
    }
  return std::round((low + high) / 2 * range.digits) / range.digits;
}

}  // namespace penstock::experiment
