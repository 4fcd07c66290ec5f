#include "penstock/cost/estimated.hpp"

#include <algorithm>

namespace penstock::cost {
namespace {

constexpr std::string_view kOriginNames[] = {"measured", "interpolated", "extrapolated", "analytic"};

}  // namespace

std::string_view name(TimeOrigin origin) {
  return kOriginNames[static_cast<std::size_t>(origin)];
}

PassEstimate sum(const PassEstimate& a, const PassEstimate& b) {
  if (a.time == core::Seconds(0)) return b;
  if (b.time == core::Seconds(0)) return a;
  return {a.time + b.time, a.low + b.low, a.high + b.high, std::max(a.origin, b.origin)};
}

PassEstimate scaled(const PassEstimate& pass, double factor) {
  return {pass.time * factor, pass.low * factor, pass.high * factor, pass.origin};
}

OpEstimate sum(const OpEstimate& a, const OpEstimate& b) {
  OpEstimate out;
  for (std::size_t p = 0; p < graph::kPasses; ++p) out.passes[p] = sum(a.passes[p], b.passes[p]);
  return out;
}

OpEstimate scaled(OpEstimate whole, double factor) {
  for (PassEstimate& pass : whole.passes) pass = scaled(pass, factor);
  return whole;
}

TimeOrigin OpEstimate::origin() const {
  TimeOrigin worst = TimeOrigin::measured;
  for (const PassEstimate& pass : passes)
    if (pass.time.value() > 0) worst = std::max(worst, pass.origin);
  return worst;
}

}  // namespace penstock::cost
