#pragma once
// Planners' slow twins: the best plan of a small problem by trying every one.

#include <cstdint>
#include <map>
#include <optional>

#include "penstock/cost/problem.hpp"
#include "support/partitions.hpp"

namespace penstock::support {

/// A plan of least bottleneck, or nothing when memory or devices forbid all.
struct LeastBottleneck {
  double bottleneck = 0;  ///< seconds per sample of the slowest stage
  plan::Plan plan;
};

/// By uniform micro-batch size: every power of two that divides the mini-batch.
using BestBySize = std::map<std::int64_t, std::optional<LeastBottleneck>>;

struct ExhaustiveOptions {
  bool forced_row = false;  ///< each stage waits for the one before, as in a sequential pipeline
  bool any_degree = false;  ///< replica counts of any size, not only powers of two
  bool rejoined = false;    ///< own space only; see series_parallel_partitions
  bool added = false;       ///< a stage takes the sum of computing and communicating, not the longer
};

/// Tries every replica count and size for each of the partitions. All devices must be of one type.
BestBySize exhaustive(const cost::Problem& problem, const PlanningUnits& units, const Partitions& partitions,
                      const ExhaustiveOptions& options = {});

/// The space of `graphpipe`, the space of `spp`, and every plan there is.
BestBySize own_space(const cost::Problem& problem, const ExhaustiveOptions& options = {});
BestBySize row_space(const cost::Problem& problem, ExhaustiveOptions options = {});
BestBySize all_valid(const cost::Problem& problem);

}  // namespace penstock::support
