#pragma once
// Comparison of numbers up to a relative difference only. doctest's own also allows an absolute one,
// of 1.2e-5 at least, by which zero passes for any time of a few microseconds.

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>

namespace penstock::support {

/// A number, and the relative difference from it that is allowed. Zero equals only zero.
struct NearValue {
  double value;
  double relative;

  friend bool operator==(double other, const NearValue& near) {
    const double larger = std::max(std::abs(other), std::abs(near.value));
    return other == near.value || std::abs(other - near.value) < near.relative * larger;
  }
  friend std::ostream& operator<<(std::ostream& out, const NearValue& near) {
    return out << std::setprecision(12) << near.value << " within " << near.relative;
  }
};

/// CHECK(seconds == near(3e-6)).
inline NearValue near(double value, double relative = 1e-9) {
  return {value, relative};
}

}  // namespace penstock::support
