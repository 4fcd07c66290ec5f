#pragma once
// Evaluates whole plans, by the simulator if it was passed.

#include <compare>
#include <limits>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// Score of a plan for the objective; less is better.
struct Worth {
  /// Seconds or bytes to minimise; infinite: invalid.
  double least = std::numeric_limits<double>::infinity();
  core::Seconds iteration{std::numeric_limits<double>::infinity()};  ///< among equals the faster is better
  friend auto operator<=>(const Worth&, const Worth&) = default;
};

/// Minimises the seconds of an iteration; with options.least_memory_within, the bytes of the fullest device.
class JointJudge {
 public:
  /// Both must outlive it.
  JointJudge(const cost::Problem& problem, const SearchOptions& options);

  /// Evaluates with options.evaluate, or score::estimate if not set. A plan that is not better than `to_beat`
  /// may get any score that is not better. A plan that breaks a rule, or takes longer than allowed, gets the
  /// worst score. Thread-safe; may throw LimitHit.
  Worth worth(const plan::Plan& plan, const Worth& to_beat = {}) const;
  /// Lower bound on the score; the worst score if the plan takes longer than allowed.
  Worth at_best(const plan::Plan& plan) const;
  /// The score that is just beaten by plans as good as `worth`, and by no worse ones.
  Worth just_above(const Worth& worth) const;
  /// Returns a text such as "26.7 samples/s (iteration 1.2 s; PP4 x DP2, 1F1B, mb 32)", with memory before
  /// the parenthesis if it is minimised.
  std::string in_words(const plan::Plan& plan, const Worth& worth) const;

 private:
  Worth by_time(const plan::Plan& plan, const Worth& to_beat) const;
  Worth by_memory(const plan::Plan& plan) const;

  const cost::Problem& problem_;
  const SearchOptions& options_;
};

}  // namespace penstock::planners
