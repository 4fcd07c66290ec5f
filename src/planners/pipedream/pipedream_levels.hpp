#pragma once
// A cluster as PipeDream's levels, and the devices of the stages of a hierarchical plan.

#include "penstock/cluster/cluster.hpp"
#include "pipedream/pipedream_search.hpp"

namespace penstock::planners {

/// Two levels, devices within a node and nodes, if nodes hold equal numbers (at least two) of consecutive
/// devices. Bandwidths are those of the slowest route between neighbours.
std::vector<PipedreamLevel> node_levels(const cluster::Cluster& cluster);
/// One level with all devices, at the bandwidth of the slowest route between neighbours.
std::vector<PipedreamLevel> flat_level(const cluster::Cluster& cluster);

/// An innermost stage with all its replicas.
struct PlacedStage {
  std::size_t first = 0;
  std::size_t last = 0;
  std::vector<core::DeviceId> devices;  ///< ascending
};
/// Places stages on consecutive machines of each level, in order.
std::vector<PlacedStage> place(const std::vector<PipedreamStage>& stages,
                               const std::vector<PipedreamLevel>& levels);

}  // namespace penstock::planners
