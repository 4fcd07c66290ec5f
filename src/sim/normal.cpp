#include "normal.hpp"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

namespace penstock::sim {

double normal_quantile(double p) {
  using namespace boost::math::policies;
  const double inside = std::clamp(p, 0x1.0p-54, 1 - 0x1.0p-53);
  return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * inside, policy<promote_double<false>>());
}

double normal_share_below(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}

}  // namespace penstock::sim
