#pragma once
// An optimizer step, common to every backend.

#include <cmath>
#include <span>

#include "both_sides.hpp"
#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// Addresses; null if the rule has no such state.
struct UpdateArrays {
  void* parameters;
  const void* before;
  const void* gradient;
  float *moment, *variance, *master;
};

/// State of `count` parameters, as OptimizerStep::state.
std::vector<Slot> update_state(const UpdateRule& rule, std::int64_t count, Element element);

/// Throws an internal error if a buffer does not fit `slots`, the result of update_state, or if `step` < 1.
UpdateArrays update_arrays(const std::vector<Slot>& slots, std::int64_t count, Element element,
                           Buffer& parameters, const Buffer& before, const Buffer& gradient,
                           std::span<Buffer* const> state, std::int64_t step);

/// The rule at one step, with its powers computed.
struct UpdateStep {
  UpdateRule rule;
  float first, second;  ///< 1 / (1 - beta^t)

  UpdateStep(const UpdateRule& r, std::int64_t t)
      : rule(r), first(left(r.beta1, t)), second(left(r.beta2, t)) {}
  static float left(float beta, std::int64_t t) {
    return static_cast<float>(1 / (1 - std::pow(double{beta}, static_cast<double>(t))));
  }
  /// Parameter i after the step; changes its moment and variance if the rule has them.
  template <UpdateRule::RuleKind kind>
  PENSTOCK_BOTH float next(float w, float g, const UpdateArrays& a, std::int64_t i) const {
    if constexpr (kind == UpdateRule::RuleKind::sgd)
      return w - rule.rate * g;
    else if constexpr (kind == UpdateRule::RuleKind::momentum)
      return w - rule.rate * (a.moment[i] = rule.momentum * a.moment[i] + g);
    else {
      a.moment[i] = rule.beta1 * a.moment[i] + (1 - rule.beta1) * g;
      a.variance[i] = rule.beta2 * a.variance[i] + (1 - rule.beta2) * g * g;
      return w - rule.rate * (a.moment[i] * first) / (sqrtf(a.variance[i] * second) + rule.epsilon);
    }
  }
};

/// Calls sweep(kind), with the kind of the rule as a constant.
template <class Sweep>
void with_kind(UpdateRule::RuleKind kind, const Sweep& sweep) {
  using Kind = UpdateRule::RuleKind;
  switch (kind) {
    case Kind::sgd:
      return sweep(std::integral_constant<Kind, Kind::sgd>());
    case Kind::momentum:
      return sweep(std::integral_constant<Kind, Kind::momentum>());
    case Kind::adam:
      return sweep(std::integral_constant<Kind, Kind::adam>());
  }
}

}  // namespace penstock::kernels
