#pragma once
// A problem on part of the devices: the best plan there, repeated, is usually as good on all of them.

#include <cstddef>
#include <vector>

#include "penstock/cost/stage_memo.hpp"
#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// Device counts, ascending, that can be a part: at least sixteen, at most a quarter of the devices. A part
/// has whole nodes whose device types repeat through the cluster, with a whole number of samples and ample
/// memory. Empty if plans of other problems cannot be evaluated, or if a user's option concerns all devices.
std::vector<std::size_t> part_sizes(const cost::Problem& problem, const SearchOptions& options);

/// A problem on part of the devices, with as many samples per device as the whole problem.
class PartProblem {
 public:
  /// `devices` must be one of part_sizes. `whole` must outlive it.
  PartProblem(const cost::Problem& whole, std::size_t devices);
  PartProblem(const PartProblem&) = delete;
  PartProblem& operator=(const PartProblem&) = delete;

  const cost::Problem& problem() const { return problem_; }
  /// Puts each stage on all repetitions of its devices: more replicas, with as many samples each. In-flight
  /// counts grow in proportion; the caller checks whether the plan fits.
  plan::Plan repeated(plan::Plan plan) const;

 private:
  std::size_t times_;
  cluster::Cluster cluster_;
  cost::Problem problem_;
  cost::StageMemo memo_;
};

}  // namespace penstock::planners
