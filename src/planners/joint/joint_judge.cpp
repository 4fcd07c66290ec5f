#include "joint/joint_judge.hpp"

#include <limits>

#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"
#include "sweep.hpp"

namespace penstock::planners {
namespace {
constexpr core::Seconds kNeverDone{std::numeric_limits<double>::infinity()};
}

JointJudge::JointJudge(const cost::Problem& problem, const SearchOptions& options)
    : problem_(problem), options_(options) {}

core::Seconds JointJudge::seconds(const plan::Plan& plan, core::Seconds to_beat) const {
  try {
    const core::Seconds out = by_evaluation(options_) ? evaluated(options_, plan, to_beat)
                                                      : score::estimate(problem_, plan).iteration;
    // The order of tasks takes as long to judge as it has tasks: only of a plan that would be chosen.
    return out < to_beat && !score::violations(problem_, plan).empty() ? kNeverDone : out;
  } catch (const core::Error& error) {
    if (error.code() != core::ExitCode::invalid_plan) throw;
    return kNeverDone;  // an order that waits for itself
  }
}

core::Seconds JointJudge::seconds(const plan::Plan& plan) const {
  return seconds(plan, kNeverDone);
}

bool JointJudge::hopeless(const plan::Plan& plan, core::Seconds to_beat) const {
  return by_evaluation(options_) && options_.at_least && options_.at_least(plan) >= to_beat;
}

}  // namespace penstock::planners
