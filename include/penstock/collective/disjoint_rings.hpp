#pragma once
// Rings of a group over direct cables, each over channels of its own, as NCCL's channels are.

#include <span>
#include <vector>

#include "penstock/collective/messages.hpp"
#include "penstock/collective/step.hpp"

namespace penstock::collective {

/// Rings that share the bytes of a collective equally. A cable joins two members if their routes are one link
/// in either direction; it counts with its slower direction. Bandwidth is divided into equal channels, and
/// every cycle through all members gives two rings, one per direction.
struct DisjointRings {
  std::vector<Members> rings;  ///< [ring] indices into the group, in order of travel; empty: none found
  /// Time of one step, in which every member sends a part: bytes are the sum over all rings.
  AffineTime step;
  /// Bytes/s of all rings together, in one direction of every cut.
  double bandwidth() const { return rings.empty() ? 0 : 1 / step.per_byte; }
  /// Upper bound on bandwidth(): the smallest sum of cables between a set of members and the others, B/s.
  double cut = 0;
};

/// Groups of more members keep a single ring: the search for cycles is exponential.
inline constexpr std::size_t kMostRingMembers = 16;

/// Returns the fastest rings for channels of 1, 1/2, 1/3 and 1/4 of each cable's bandwidth. None for fewer
/// than three members, more than kMostRingMembers, or without a cycle of cables through all members.
DisjointRings disjoint_rings(const cluster::Cluster& cluster, std::span<const core::DeviceId> group);

/// Messages of an all-gather: every member has one part of `bytes` and needs the whole. Uses disjoint rings
/// where they take less time than a single ring.
std::vector<Message> all_gather(const cluster::Cluster& cluster, std::span<const core::DeviceId> group,
                                std::int64_t bytes);

}  // namespace penstock::collective
