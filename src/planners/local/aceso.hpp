#pragma once
// Aceso: alleviates the bottlenecks of a plan one by one.

#include "penstock/planners/planner.hpp"

namespace penstock::planners {

/// Improves any 1f1b plan whose stages have separate devices, even one that does not fit in memory. Each
/// round takes the two worst stages (by missing memory, otherwise by time per sample) and tries every
/// primitive on them. Primitives: move the first or last 1, 2, 4 ... units to a neighbour; exchange replica
/// counts with a larger stage (any degree: take a device from it). Or double or halve micro-batches; switch
/// recomputation. A result is better if it misses less memory, or as much in less time. If none is better,
/// the best few are changed once more (hops). Ends when nothing improves, or after a maximum number of
/// rounds.
///
/// Source: Liu et al., "Aceso: Efficient Parallel DNN Training through Iterative Bottleneck Alleviation",
/// EuroSys 2024. Differs: evaluates all primitives, where the paper's table lists those that relieve the
/// resource. Also differs: no tensor parallelism; recomputation of whole stages; by default two hops, not
/// seven; evaluation by options.evaluate or score::estimate, not the paper's formula.
///
/// The planner `aceso` improves spp's plan and, as in the paper, a balanced start of every stage count (here:
/// those that divide the devices). Never worse than a `start` that fits. Throws Infeasible if memory is still
/// missing.
SearchResult alleviate(const cost::Problem& problem, const SearchOptions& options, plan::Plan start,
                       core::StopToken stop);

}  // namespace penstock::planners
