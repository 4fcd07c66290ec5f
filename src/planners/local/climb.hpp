#pragma once
// Changes a plan step by step as long as that makes it faster.

#include <functional>

#include "penstock/planners/planner.hpp"
#include "penstock/schedule/in_flight.hpp"

namespace penstock::planners {

struct Climbed {
  plan::Plan plan;
  core::Seconds iteration;   ///< by the judge
  std::uint64_t judged = 0;  ///< plans
  bool complete = true;      ///< false: a limit was hit; the best until then
};

/// Seconds of one iteration; of a plan that is not faster than `to_beat` any time not below it. Called from
/// any thread; may throw LimitHit.
using PlanJudge = std::function<core::Seconds(const plan::Plan&, core::Seconds to_beat)>;

/// From a valid graph pipeline to one that none of these steps makes faster: some units from the front or the
/// end of a stage go to another one, two stages become one, one becomes two, a stage gives another a device,
/// two stages swap all their devices or one, all micro-batches double or halve (unless pinned). Stages are
/// any convex sets, also of pieces of several branches; replicas come in any number. In-flight counts follow
/// `rule`. A step is the fastest of the next 64 changes, in a fixed order: the same plan for any number of
/// threads. After `most` plans, or up to 63 more, it ends where it is.
Climbed climb(const cost::Problem& problem, const SearchOptions& options, plan::Plan start,
              schedule::InFlight rule, std::uint64_t most, const PlanJudge& judge, core::StopToken stop);

}  // namespace penstock::planners
