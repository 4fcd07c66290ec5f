#pragma once
// Making an order series-parallel by adding order, never work.

#include <cstddef>
#include <span>
#include <vector>

#include "penstock/core/stop.hpp"
#include "penstock/graph/series_parallel.hpp"

namespace penstock::graph {

/// How hard to search. The defaults take about 0.4 ms per vertex.
struct CutSearch {
  /// Cuts the exact search may look at for one piece; beyond it, and beyond 64 vertices, cuts are estimated.
  std::size_t exact_cuts = 100'000;
  /// Pairs of promising cuts to try to the end by only their estimate; 0: trust the estimate.
  int trials = 12;
};

struct SpResult {
  SpTree tree;  ///< over the original vertices
  std::vector<Edge>
      added;  ///< over the original vertices, sorted; some may lead from a higher to a lower number
  std::vector<Vertex>
      order;  ///< the vertices in an order the tree allows; 0, 1, 2 ... when nothing was added
  Dag dag;    ///< the original edges and `added`, its vertex i standing for order[i]
  double critical_path_before = 0, critical_path_after = 0;
};

/// A series-parallel order that contains the given one, with a critical path as short as we can find.
/// `weights`: a finite, non-negative number per vertex (checked).
///
/// Where a piece falls apart it becomes parallel, where a series cut exists it becomes series: both lose
/// nothing. Else some downset must come first as a whole. Small pieces try every downset, with memory and
/// bounds, and are optimal. Large ones try to the end the cuts that minimise (critical path of the downset) +
/// (of the rest). Shares the aim of the edge-adding variant of series-parallelisation in FlexFlow Train
/// ("flexible" sp-ization) and Gonzalez-Escribano, van Gemund, Cardenoso-Payo, "Mapping Unstructured
/// Applications into Nested Parallelism", VECPAR 2002. Differs in that synchronisation is placed by search
/// instead of by layers. Checks `stop` before each cut.
SpResult make_series_parallel(const Dag& dag, std::span<const double> weights, const CutSearch& search = {},
                              core::StopToken stop = {});

}  // namespace penstock::graph
