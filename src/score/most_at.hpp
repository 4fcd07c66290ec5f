#pragma once
// The best multiplier of a Lagrangian relaxation.

namespace penstock::score {

/// Approximate maximum of a concave function between 0 and 1, by golden-section search (Kiefer, Proceedings
/// of the AMS 1953); never above the maximum.
double most_at(auto&& relaxed) {
  constexpr double kGolden = 0.6180339887498949;
  double low = 0, high = 1, a = 1 - kGolden, b = kGolden;
  double at_a = relaxed(a), at_b = relaxed(b);
  for (int i = 0; i < 30; ++i) {
    if (at_a < at_b) {
      low = a, a = b, at_a = at_b;
      b = low + kGolden * (high - low), at_b = relaxed(b);
    } else {
      high = b, b = a, at_b = at_a;
      a = high - kGolden * (high - low), at_a = relaxed(a);
    }
  }
  return at_a < at_b ? at_b : at_a;
}

}  // namespace penstock::score
