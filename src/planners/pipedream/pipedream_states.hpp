#pragma once
// The row of cuts that PipeDream's dynamic programme runs over.

#include <boost/dynamic_bitset.hpp>
#include <cstddef>
#include <optional>
#include <vector>

#include "penstock/core/stop.hpp"

namespace penstock::planners {

/// One layer as PipeDream sees it, for one micro-batch.
struct Layer {
  double compute = 0;     ///< s, forward and backward
  double activation = 0;  ///< B of output
  double parameters = 0;  ///< B of weights
};

/// Layers in any order, with an edge from each to those that read it.
struct LayerGraph {
  std::vector<Layer> layers;
  std::vector<std::vector<std::size_t>> next;  ///< [layer], in the order in which edges were given
};

using LayerSet = boost::dynamic_bitset<>;

/// A cut: everything up to it is done. Sums are over the done layers.
struct CutState {
  LayerSet done;
  LayerSet frontier;              ///< the augmented antichain
  double compute = 0;             ///< s
  double activation = 0;          ///< B
  double parameters = 0;          ///< B
  double output = 0;              ///< B that cross the cut: activations of the frontier
  std::vector<std::size_t> next;  ///< the cuts one layer further on, as first found
};

/// PipeDream's "antichain DAG" (Narayanan et al., SOSP 2019; optimizer of the public code, July 2021) in its
/// order: breadth first from the first source, then reverse post-order. A member of a cut is replaced by a
/// reader of which nothing later is in the cut; predecessors the reader lacks are done with it, so further
/// sources are never entered one by one. As there, a tensor read by two members of a cut is counted although
/// nothing behind the cut needs it. What the first source does not reach is done nowhere. Nothing when there
/// are more than `most` cuts. Throws as `stop` does.
std::optional<std::vector<CutState>> antichain_states(const LayerGraph& graph, std::size_t most,
                                                      core::StopToken stop = {});

/// Sets the sums of every cut anew, for a graph of the same layers and edges.
void weigh(const LayerGraph& graph, std::vector<CutState>& states);

/// A coarser row for graphs with too many cuts: the layers one by one, in the order of the first one ready.
/// Here what crosses a cut is what a later layer reads, and all layers are done at the end.
std::vector<CutState> row_states(const LayerGraph& graph);

}  // namespace penstock::planners
