#pragma once
// Collectives in closed form over the cluster's routes.

#include <span>
#include <vector>

#include "penstock/collective/step.hpp"

namespace penstock::cost {

using collective::Affine;

/// The alternatives for one device set (collective::algorithms, of closed forms); the cheapest is taken for
/// each size.
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
