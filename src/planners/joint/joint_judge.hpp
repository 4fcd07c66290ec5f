#pragma once
// How good a whole plan is: by the simulator, where one is handed in.

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

class JointJudge {
 public:
  /// All must outlive it.
  JointJudge(const cost::Problem& problem, const SearchOptions& options);

  /// Seconds of an iteration by options.evaluate, else by score::estimate; of a plan that takes longer than
  /// `to_beat` any above it, and infinity for one that breaks a rule. May be called from any thread, may
  /// throw LimitHit.
  core::Seconds seconds(const plan::Plan& plan, core::Seconds to_beat) const;
  core::Seconds seconds(const plan::Plan& plan) const;
  /// Whether a bound says already that the plan takes `to_beat` or longer.
  bool hopeless(const plan::Plan& plan, core::Seconds to_beat) const;

 private:
  const cost::Problem& problem_;
  const SearchOptions& options_;
};

}  // namespace penstock::planners
