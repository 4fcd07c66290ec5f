#pragma once
// The same training on a part of the devices: its best plan, repeated, is mostly as good on all of them.

#include <cstddef>
#include <vector>

#include "penstock/cost/stage_memo.hpp"
#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// Numbers of devices, ascending, that are a part: sixteen at least, a quarter of the devices at most, whole
/// nodes of which all others are repetitions as far as device types tell, with a whole number of samples and
/// ample memory. None where plans of other problems cannot be judged, or what a user pinned or gave is about
/// all devices.
std::vector<std::size_t> part_sizes(const cost::Problem& problem, const SearchOptions& options);

/// As many samples for each device as all devices have.
class Part {
 public:
  /// Of one of these sizes. `whole` must outlive it.
  Part(const cost::Problem& whole, std::size_t devices);
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  const cost::Problem& problem() const { return problem_; }
  /// Each stage on all repetitions of its devices: more replicas, with as many samples each. In-flight counts
  /// grow alike; whether all fits is left to who asks.
  plan::Plan repeated(plan::Plan plan) const;

 private:
  std::size_t times_;
  cluster::Cluster cluster_;
  cost::Problem problem_;
  cost::StageMemo memo_;
};

}  // namespace penstock::planners
