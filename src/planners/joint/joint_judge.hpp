#pragma once
// How good a whole plan is: by the simulator, where one is handed in.

#include <compare>
#include <limits>

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// How good a plan is, to what is made least; less is better.
struct Worth {
  double least = std::numeric_limits<double>::infinity();  ///< seconds, or bytes; infinite: not to be had
  core::Seconds iteration{std::numeric_limits<double>::infinity()};  ///< of equals the faster is better
  friend auto operator<=>(const Worth&, const Worth&) = default;
};

/// Seconds of an iteration are made least; with options.least_memory_within bytes of the fullest device.
class JointJudge {
 public:
  /// All must outlive it.
  JointJudge(const cost::Problem& problem, const SearchOptions& options);

  /// Times are those of options.evaluate, else of score::estimate. A plan that is no better than `to_beat`
  /// may have any worth that is not; one that breaks a rule, or takes longer than allowed, the default, the
  /// worst. May be called from any thread, may throw LimitHit.
  Worth worth(const plan::Plan& plan, const Worth& to_beat = {}) const;
  /// The plan is no better; the worst where it takes longer than allowed.
  Worth at_best(const plan::Plan& plan) const;
  /// Beaten by a plan as good as that, by none that is worse.
  Worth just_above(const Worth& worth) const;
  /// "26.7 samples/s (iteration 1.2 s; PP4 x DP2, 1F1B, mb 32)", or with memory, where that is made least,
  /// before the parenthesis.
  std::string in_words(const plan::Plan& plan, const Worth& worth) const;

 private:
  Worth by_time(const plan::Plan& plan, const Worth& to_beat) const;
  Worth by_memory(const plan::Plan& plan) const;

  const cost::Problem& problem_;
  const SearchOptions& options_;
};

}  // namespace penstock::planners
