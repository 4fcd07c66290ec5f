#pragma once
// Hill climbing: changes a plan step by step while it becomes faster.

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

struct ClimbResult {
  plan::Plan plan;
  core::Seconds iteration{std::numeric_limits<double>::infinity()};  ///< time by the judge
  std::uint64_t judged = 0;                                          ///< number of evaluated plans
  bool complete = true;  ///< false: a limit was hit, and this is the best so far
};

/// Seconds of one iteration; for a plan not faster than `to_beat` any time that is not below it. Called from
/// any thread; may throw LimitHit.
using PlanJudge = std::function<core::Seconds(const plan::Plan&, core::Seconds to_beat)>;

/// Climbs from a valid graph pipeline to one that no step makes faster. Steps: move some units from the front
/// or the end of a stage to another; merge two stages; split one. Further steps: give a device to another
/// stage; swap all devices of two stages, or one; double or halve all micro-batches (unless fixed). Stages
/// are any convex sets, also of pieces of several branches; replicas come in any number. In-flight counts
/// follow `rule`. A step is the fastest of the next 64 changes, in a fixed order, so the result does not
/// depend on the number of threads. References must outlive the climb.
class PlanClimb {
 public:
  PlanClimb(const cost::Problem& problem, const SearchOptions& options, plan::Plan start,
            schedule::InFlight rule, PlanJudge judge, core::StopToken stop);
  /// Continues until `most` plans have been evaluated in total (or up to 63 more), or no step improves.
  void go_on(std::uint64_t most);
  const ClimbResult& best() const { return best_; }
  /// Key of the start: equal for starts that differ only in the numbers of equal devices.
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
  UnitGraph units_;
  PlacementForm form_;
  ClimbResult best_;
  std::string start_;
  std::unordered_set<std::string> met_;  ///< keys of the evaluated plans
  std::size_t first_ = 0;                ///< first change that the next step considers
};

}  // namespace penstock::planners
