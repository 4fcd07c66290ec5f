#pragma once
// Aceso: bottlenecks of a plan alleviated one by one.

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// Improves any 1f1b plan whose stages have devices of their own, even one that does not fit in memory. Each
/// round takes the two worst stages (by missing memory, else by time per sample) and tries every primitive
/// there: its first or last 1, 2, 4 ... units to a neighbour, replica counts exchanged with a larger stage
/// (any degree: a device taken from it), micro-batches doubled or halved, recomputation switched. The best
/// result counts if it misses less memory, or as much in less time; failing that, the best few are altered
/// once more (hops). Ends when nothing helps, or after so many rounds.
///
/// Liu et al., "Aceso: Efficient Parallel DNN Training through Iterative Bottleneck Alleviation", EuroSys
/// 2024. Differs: all primitives are judged, where the paper's table names those that relieve the resource;
/// no tensor parallelism; recomputation of whole stages; by default two hops, not seven; judged by
/// options.evaluate or score::estimate, not the paper's formula.
///
/// The planner `aceso` alleviates spp's plan and, as the paper, a balanced start of every stage count (here:
/// those that divide the devices). Never worse than a `start` that fits. Throws Infeasible when memory is
/// still missing.
SearchResult alleviate(const cost::Problem& problem, const SearchOptions& options, plan::Plan start,
                       core::StopToken stop);

}  // namespace penstock::planners
