#pragma once
// A cluster as PipeDream's levels, and where the stages of a hierarchical plan stand in it.

#include "penstock/cluster/cluster.hpp"
#include "pipedream/pipedream_search.hpp"

namespace penstock::planners {

/// Devices within a node, then nodes, where nodes hold equally many consecutive devices, at least two.
/// Bandwidths are those of the slowest route between neighbours.
std::vector<PipedreamLevel> node_levels(const cluster::Cluster& cluster);
/// All devices side by side, at the bandwidth of the slowest route between neighbours.
std::vector<PipedreamLevel> flat_level(const cluster::Cluster& cluster);

/// An innermost stage with all its replicas.
struct PlacedStage {
  std::size_t first = 0;
  std::size_t last = 0;
  std::vector<core::DeviceId> devices;  ///< ascending
};
/// Stages on consecutive machines of each level, in order.
std::vector<PlacedStage> place(const std::vector<PipedreamStage>& stages,
                               const std::vector<PipedreamLevel>& levels);

}  // namespace penstock::planners
