#pragma once
// The value of one constant with the least error.

#include <functional>

namespace penstock::experiment {

/// Where a constant is looked for, and how exactly.
struct SearchRange {
  double first, step;  ///< of a first look
  int steps;           ///< after the first
  double digits;       ///< per unit: what is left is rounded to 1 / digits
  int rounds = 20;     ///< of golden section search around the best of the first look
};

double least_error(const SearchRange& range, const std::function<double(double)>& error);

}  // namespace penstock::experiment
