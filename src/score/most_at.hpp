#pragma once
// The best multiplier of a Lagrangian relaxation.

namespace penstock::score {

/// About the most that a concave function takes between 0 and 1, by ternary search; never more.
double most_at(auto&& relaxed) {
  double low = 0, high = 1;
  for (int i = 0; i < 40; ++i) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    const bool rising = relaxed(a) < relaxed(b);
    (rising ? low : high) = rising ? a : b;
  }
  return relaxed(low + (high - low) / 2);
}

}  // namespace penstock::score
