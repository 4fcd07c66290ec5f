#include <fmt/format.h>

#include "families.hpp"

namespace penstock::planners {

// Training without parallelism: all operators on one device, gradients accumulated over micro-batches. A plan
// uses every device of its cluster, so the cluster must have one: data parallelism of degree one.
SearchResult single_device(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  if (problem.cluster.size() > 1)
    throw core::Infeasible(fmt::format(
        "single_device uses one device and a plan all {} of its cluster: give it one (devices: 1)",
        problem.cluster.size()));
  return data_parallel(problem, options, stop);
}

}  // namespace penstock::planners
