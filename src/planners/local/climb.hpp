#pragma once
// Changes a plan step by step as long as that makes it faster.

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "local/placement_form.hpp"
#include "penstock/planners/planner.hpp"
#include "penstock/schedule/in_flight.hpp"
#include "units.hpp"

namespace penstock::planners {

struct Climbed {
  plan::Plan plan;
  core::Seconds iteration{std::numeric_limits<double>::infinity()};  ///< by the judge
  std::uint64_t judged = 0;                                          ///< plans
  bool complete = true;  ///< false: a limit was hit; the best until then
};

/// Seconds of one iteration; of a plan that is not faster than `to_beat` any time not below it. Called from
/// any thread; may throw LimitHit.
using PlanJudge = std::function<core::Seconds(const plan::Plan&, core::Seconds to_beat)>;

/// From a valid graph pipeline to one that none of these steps makes faster: some units from the front or the
/// end of a stage go to another one, two stages become one, one becomes two, a stage gives another a device,
/// two stages swap all their devices or one, all micro-batches double or halve (unless pinned). Stages are
/// any convex sets, also of pieces of several branches; replicas come in any number. In-flight counts follow
/// `rule`. A step is the fastest of the next 64 changes, in a fixed order: the same plan for any number of
/// threads. References outlive the climb.
class Climb {
 public:
  Climb(const cost::Problem& problem, const SearchOptions& options, plan::Plan start, schedule::InFlight rule,
        PlanJudge judge, core::StopToken stop);
  /// On until `most` plans have been judged in all, or up to 63 more, or no step helps any more.
  void go_on(std::uint64_t most);
  const Climbed& best() const { return best_; }
  /// Equal for starts that differ by the numbers of like devices alone.
  const std::string& start() const { return start_; }

 private:
  bool step(std::uint64_t most);
  std::string key(const plan::Plan& plan) const;
  std::optional<plan::Plan> completed(const std::vector<plan::Stage>& changed) const;

  const cost::Problem& problem_;
  const SearchOptions& options_;
  schedule::InFlight rule_;
  PlanJudge judge_;
  core::StopToken stop_;
  Units units_;
  PlacementForm form_;
  Climbed best_;
  std::string start_;
  std::unordered_set<std::string> met_;  ///< keys of the plans judged
  std::size_t first_ = 0;                ///< change that the next step looks at first
};

}  // namespace penstock::planners
