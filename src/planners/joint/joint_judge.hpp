#pragma once
// Evaluates whole plans, by the simulator if it was passed.

#include <compare>
#include <limits>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// Score of a plan for the objective; less is better.
struct PlanScore {
  /// Seconds or bytes to minimise; infinite: invalid.
  double least = std::numeric_limits<double>::infinity();
  core::Seconds iteration{std::numeric_limits<double>::infinity()};  ///< among equals the faster is better
  friend auto operator<=>(const PlanScore&, const PlanScore&) = default;
};

/// Minimises the seconds of an iteration; with options.least_memory_within, the bytes of the fullest device.
class JointJudge {
 public:
  /// Both must outlive it.
  JointJudge(const cost::Problem& problem, const SearchOptions& options);

  /// Evaluates with options.evaluate, or score::estimate if not set. A plan that is not better than `to_beat`
  /// may get any score that is not better. A plan that breaks a rule, or takes longer than allowed, gets the
  /// worst score. Thread-safe; may throw LimitHit.
  PlanScore worth(const plan::Plan& plan, const PlanScore& to_beat = {}) const;
  /// Lower bound on the score; the worst score if the plan takes longer than allowed.
  PlanScore at_best(const plan::Plan& plan) const;
  /// The score that is just beaten by plans as good as `worth`, and by no worse ones.
  PlanScore just_above(const PlanScore& worth) const;
  /// Returns a text such as "26.7 samples/s (iteration 1.2 s; PP4 x DP2, 1F1B, mb 32)", with memory before
  /// the parenthesis if it is minimised.
  std::string in_words(const plan::Plan& plan, const PlanScore& worth) const;

 private:
  PlanScore by_time(const plan::Plan& plan, const PlanScore& to_beat) const;
  PlanScore by_memory(const plan::Plan& plan) const;

  const cost::Problem& problem_;
  const SearchOptions& options_;
};

}  // namespace penstock::planners
