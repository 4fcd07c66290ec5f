#include "penstock/cost/estimated.hpp"

#include <algorithm>

namespace penstock::cost {
namespace {

constexpr std::string_view kOriginNames[] = {"measured", "interpolated", "extrapolated", "analytic"};

}  // namespace

std::string_view name(Origin origin) {
  return kOriginNames[static_cast<std::size_t>(origin)];
}

PassEstimate scaled(const PassEstimate& pass, double factor) {
  return {pass.time * factor, pass.low * factor, pass.high * factor, pass.origin};
}

Estimate scaled(Estimate whole, double factor) {
  for (PassEstimate& pass : whole.passes) pass = scaled(pass, factor);
  return whole;
}

Origin Estimate::origin() const {
  Origin worst = Origin::measured;
  for (const PassEstimate& pass : passes)
    if (pass.time.value() > 0) worst = std::max(worst, pass.origin);
  return worst;
}

}  // namespace penstock::cost
