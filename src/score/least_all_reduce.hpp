#pragma once
// Lower bound on the time of an all-reduce, on any devices of a cluster.

#include <vector>

#include "penstock/cost/communication.hpp"

namespace penstock::score {

/// Not above cost::all_reduce on any set of this many devices. Let x be the bandwidth at which two devices
/// are connected over links at least as fast (no path between two is faster, whatever the routes). Let y be
/// that of this many devices. A ring takes at least 2(r-1)/r bytes / y, a tree 2 bytes / y.
/// Disjoint rings replace y by the sum of cables to other devices that r devices have each, and x by that of
/// three. A hierarchical
/// all-reduce passes all bytes over y in one phase and over x in the other. No algorithm needs fewer than 2
/// ceil(log2 r) messages one after the other. Also not above measured times within a node.
class LeastAllReduce {
 public:
  /// The cluster must outlive it.
  explicit LeastAllReduce(const cluster::Cluster& cluster);
  double seconds(std::size_t replicas, core::Bytes bytes) const;

 private:
  const cluster::CollectiveTimes* measured_;
  std::vector<cost::AffineTime> by_replicas_;  ///< [replicas] indices 0 and 1 are unused
};

}  // namespace penstock::score
