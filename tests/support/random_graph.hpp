#pragma once
// Random graphs by seed, and the plain reachability that slow twins are made of.

#include <vector>

#include "penstock/core/random.hpp"
#include "penstock/graph/dag.hpp"

namespace penstock::test {

/// Each of the n(n-1)/2 upward edges with probability `density`.
graph::Dag random_dag(core::Random& random, int n, double density);

/// A random series-parallel order without transitive edges, numbered by a random linear extension.
/// `series` is the chance that a composition is in series.
graph::Dag random_series_parallel(core::Random& random, int n, double series = 0.5);

/// A narrow graph such as networks have: `width` interleaved chains with a few edges across.
graph::Dag random_braid(core::Random& random, int n, int width);

graph::Dag chain(int n);

/// Vertices renumbered by a random linear extension.
graph::Dag shuffled(core::Random& random, const graph::Dag& dag);

/// Small whole numbers as weights, so that sums are exact.
std::vector<double> random_weights(core::Random& random, std::size_t n, int low = 1, int high = 9);

/// reach[u][w]: a path of at least one edge leads from u to w.
using Reach = std::vector<std::vector<char>>;
Reach reachability(const graph::Dag& dag);

}  // namespace penstock::test
