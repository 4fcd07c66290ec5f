#include <fmt/format.h>

#include "families.hpp"
#include "row_plan.hpp"

namespace penstock::planners {

// One stage on all devices, the gradients reduced once per iteration. Micro-batches are the steps over which
// gradients are accumulated; of all powers of two the fastest that fits.
SearchResult data_parallel(const cost::Problem& problem, const SearchOptions& options, core::StopToken stop) {
  if (options.k < 1) throw core::BadInput("k must be at least 1");
  const Units units = planning_units(problem.graph);
  const int devices = static_cast<int>(problem.cluster.size());
  std::vector<EvenRow> rows;
  for (std::int64_t size : sizes_for(problem, options, devices))
    rows.push_back({1, devices, size, options.k, "1f1b", false});
  const auto whole = [&](const EvenRow&) { return std::vector{units.operators.size()}; };
  const auto none =
      fmt::format("no micro-batch that divides the mini-batch {} has a sample for each of {} replicas",
                  problem.training.mini_batch, devices);
  return fastest(problem, options, units, rows, whole, none, stop);
}

}  // namespace penstock::planners
