#pragma once
// Collectives in closed form over the cluster's routes, or as they were measured.

#include <optional>
#include <span>
#include <vector>

#include "penstock/cluster/collective_times.hpp"
#include "penstock/collective/step.hpp"

namespace penstock::cost {

using collective::AffineTime;

/// Times of one kind of collective among so many devices of a node (cluster::Cluster::collectives). An
/// all-gather counts for a reduce-scatter too: where both were measured, their mean. The cluster must outlive
/// it.
struct CollectiveMeasurements {
  const cluster::CollectiveTimes* times = nullptr;  ///< null: closed forms count
  cluster::CollectiveKind kind{};
  std::int64_t ranks = 0;
  std::optional<cluster::CollectiveTimes::LookupResult> find(core::Bytes bytes) const;
  friend bool operator==(const CollectiveMeasurements&, const CollectiveMeasurements&) = default;
};

/// The alternatives for one device set (collective::algorithms, of closed forms); the cheapest is taken for
/// each size, unless that was measured.
struct AllReduce {
  std::vector<AffineTime> algorithms;  ///< empty for a single device
  CollectiveMeasurements measured{};
  double sent = 1;  ///< measured bytes for each requested byte; closed forms have it in them
  core::Seconds time(core::Bytes bytes) const;
  friend bool operator==(const AllReduce&, const AllReduce&) = default;
};

AllReduce all_reduce(const cluster::Cluster& cluster, std::span<const core::DeviceId> devices);
/// All-reduces of several groups at once: the slowest of them counts, each link shared by as many groups as
/// send over it. Groups are of one size.
AllReduce all_reduce(const cluster::Cluster& cluster, std::span<const std::vector<core::DeviceId>> groups);

/// All-gather or, the other way, reduce-scatter of `bytes` in all: half an all-reduce, by ring or
/// hierarchically.
AllReduce all_gather(const cluster::Cluster& cluster, std::span<const std::vector<core::DeviceId>> groups);

/// Every device has one part of `bytes` and sends the others their parts of it, one after the other.
AffineTime all_to_all(const cluster::Cluster& cluster, std::span<const core::DeviceId> devices);
/// Time of an all-to-all of groups that exchange at one time, and share links: the slowest of them. Bytes are
/// those of one group.
AffineTime all_to_all(const cluster::Cluster& cluster, std::span<const std::vector<core::DeviceId>> groups);

/// Measured times among devices of one node; elsewhere, and where groups share links of their node, nothing.
CollectiveMeasurements measured(const cluster::Cluster& cluster,
                                std::span<const std::vector<core::DeviceId>> groups,
                                cluster::CollectiveKind kind);

}  // namespace penstock::cost
