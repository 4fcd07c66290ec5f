#pragma once
// The row of cuts for PipeDream's dynamic programme.

#include <boost/dynamic_bitset.hpp>
#include <cstddef>
#include <optional>
#include <vector>

#include "penstock/core/stop.hpp"

namespace penstock::planners {

/// One layer in PipeDream's terms, for one micro-batch.
struct PipedreamLayer {
  double compute = 0;     ///< s, forward and backward
  double activation = 0;  ///< B of output
  double parameters = 0;  ///< B of weights
};

/// Layers in any order, with an edge from each to those that read it.
struct LayerGraph {
  std::vector<PipedreamLayer> layers;
  std::vector<std::vector<std::size_t>> next;  ///< [layer] readers, in the order in which edges were given
};

using LayerSet = boost::dynamic_bitset<>;

/// A cut: everything up to it is done. Sums are over the done layers.
struct CutState {
  LayerSet done;
  LayerSet frontier;              ///< augmented antichain
  double compute = 0;             ///< s
  double activation = 0;          ///< B
  double parameters = 0;          ///< B
  double output = 0;              ///< B that cross the cut: activations of the frontier
  std::vector<std::size_t> next;  ///< cuts one layer further on, in the order found
};

/// PipeDream's "antichain DAG" (Narayanan et al., SOSP 2019; optimizer of the public code, July 2021) in its
/// order: breadth first from the first source, then reverse post-order. A member of a cut is replaced by a
/// reader that has nothing later in the cut. Missing predecessors of the reader are done with it, so further
/// sources are never entered separately. As in the code, a tensor read by two members of a cut counts
/// although nothing behind the cut needs it. Layers that the first source does not reach are never done.
/// Returns nothing if there are more than `most` cuts. Throws like `stop`.
std::optional<std::vector<CutState>> antichain_states(const LayerGraph& graph, std::size_t most,
                                                      core::StopToken stop = {});

/// Recomputes the sums of every cut for a graph of the same layers and edges.
void weigh(const LayerGraph& graph, std::vector<CutState>& states);

/// A coarser row for graphs with too many cuts: the layers one by one, always the first one ready. Here a cut
/// is crossed by what a later layer reads, and all layers are done at the end.
std::vector<CutState> row_states(const LayerGraph& graph);

}  // namespace penstock::planners
