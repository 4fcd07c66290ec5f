#pragma once
// What an all-reduce takes at least, on whichever devices of a cluster.

#include <vector>

#include "penstock/cost/communication.hpp"

namespace penstock::score {

/// Not above cost::all_reduce on any set of so many devices. With x the bandwidth at which two devices hang
/// together over links as fast or faster (no way between two is faster, whichever routes take), and y that of
/// so many devices: a ring takes 2(r-1)/r bytes / y or more, a tree 2 bytes / y;
/// a hierarchical one passes all bytes over y in one of its phases and over x in the other. No algorithm
/// takes fewer than 2 ceil(log2 r) messages one after the other. Nor above what was measured within a node.
class LeastAllReduce {
 public:
  /// The cluster must outlive it.
  explicit LeastAllReduce(const cluster::Cluster& cluster);
  double seconds(std::size_t replicas, core::Bytes bytes) const;

 private:
  const cluster::CollectiveTimes* measured_;
  std::vector<cost::Affine> by_replicas_;  ///< index 0 and 1: nothing
};

}  // namespace penstock::score
