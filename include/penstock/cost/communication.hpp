#pragma once
// Collectives in closed form over the cluster's routes.

#include <span>
#include <vector>

#include "penstock/cluster/cluster.hpp"

namespace penstock::cost {

/// Time as a function of size: latency + bytes * per_byte.
struct Affine {
  double latency = 0;   ///< s
  double per_byte = 0;  ///< s/B
  double at(core::Bytes bytes) const { return latency + per_byte * static_cast<double>(bytes.value()); }
  friend bool operator==(const Affine&, const Affine&) = default;
};

/// The alternatives for one device set; the cheapest is taken for each size.
/// Ring: 2(r-1) steps of bytes/r over the slowest route between neighbours (Patarasuk and Yuan, JPDC 2009).
/// Tree: reduce and broadcast along a binary tree, 2*ceil(log2 r) steps of all bytes.
/// Hierarchical (only where nodes hold equally many of the devices, at least two): ring reduce-scatter in
/// each node, ring all-reduce of the shards between nodes, ring all-gather in each node.
struct AllReduce {
  std::vector<Affine> algorithms;  ///< empty for a single device
  core::Seconds time(core::Bytes bytes) const;
  friend bool operator==(const AllReduce&, const AllReduce&) = default;
};

AllReduce all_reduce(const cluster::Cluster& cluster, std::span<const core::DeviceId> devices);
/// Of several groups at once: the slowest of them, each link shared by as many groups as send over it. Groups
/// of one size.
AllReduce all_reduce(const cluster::Cluster& cluster, std::span<const std::vector<core::DeviceId>> groups);

/// All-gather or, the other way, reduce-scatter of `bytes` in all: half an all-reduce, by ring or
/// hierarchically.
AllReduce all_gather(const cluster::Cluster& cluster, std::span<const std::vector<core::DeviceId>> groups);

/// Every device has one part of `bytes` and sends the others their parts of it, one after the other.
Affine all_to_all(const cluster::Cluster& cluster, std::span<const core::DeviceId> devices);

}  // namespace penstock::cost
