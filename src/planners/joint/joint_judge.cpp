#include "joint/joint_judge.hpp"

#include <fmt/format.h>

#include "candidates.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/plan/stage_graph.hpp"
#include "penstock/plan/strategy.hpp"
#include "penstock/score/estimate.hpp"
#include "penstock/score/validate.hpp"
#include "sweep.hpp"

namespace penstock::planners {

JointJudge::JointJudge(const cost::Problem& problem, const SearchOptions& options)
    : problem_(problem), options_(options) {}

PlanScore JointJudge::worth(const plan::Plan& plan, const PlanScore& to_beat) const {
  try {
    const PlanScore out = options_.least_memory_within ? by_memory(plan) : by_time(plan, to_beat);
    // Checking the order takes time proportional to its tasks, so it is done only for a plan that would be
    // chosen.
    return out < to_beat && !score::violations(problem_, plan).empty() ? PlanScore{} : out;
  } catch (const core::Error& error) {
    if (error.code() != core::ExitCode::invalid_plan) throw;
    return {};  // the order deadlocks
  }
}

PlanScore JointJudge::by_time(const plan::Plan& plan, const PlanScore& to_beat) const {
  const core::Seconds time = by_evaluation(options_) ? evaluated_to_win(options_, plan, to_beat.iteration)
                                                     : score::estimate(problem_, plan).iteration;
  return {time.value(), time};
}

PlanScore JointJudge::by_memory(const plan::Plan& plan) const {
  const core::Seconds time = by_evaluation(options_)
                                 ? evaluated(options_, plan, *options_.least_memory_within)
                                 : score::estimate(problem_, plan).iteration;
  if (time > *options_.least_memory_within) return {};
  return {static_cast<double>(fullest_need(problem_, plan).value()), time};
}

PlanScore JointJudge::at_best(const plan::Plan& plan) const {
  const core::Seconds time = evaluated_at_least(options_, plan);
  if (!options_.least_memory_within) return {time.value(), time};
  if (time > *options_.least_memory_within) return {};
  return {static_cast<double>(fullest_need(problem_, plan).value()), time};
}

PlanScore JointJudge::just_above(const PlanScore& worth) const {
  const core::Seconds time = worth.iteration + kTick;
  return {options_.least_memory_within ? worth.least : time.value(), time};
}

std::string JointJudge::in_words(const plan::Plan& plan, const PlanScore& worth) const {
  const auto samples = static_cast<double>(problem_.training.mini_batch);
  const std::string what = options_.least_memory_within
                               ? "memory " + core::show(core::Bytes(static_cast<std::int64_t>(worth.least)))
                               : fmt::format("{:.1f} samples/s", samples / worth.iteration.value());
  const int depth = plan::StageGraph(problem_.graph, plan).depth();
  return fmt::format("{} (iteration {}; {})", what, core::show(worth.iteration),
                     plan::in_words(plan::strategy(plan, depth)));
}

}  // namespace penstock::planners
