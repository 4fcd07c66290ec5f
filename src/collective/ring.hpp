#pragma once
// Steps around a ring, which other algorithms use too. Private to the room.

#include "penstock/collective/catalogue.hpp"
#include "penstock/collective/disjoint_rings.hpp"

namespace penstock::collective {

/// All members 0 to n - 1.
Members everybody(std::size_t n);
inline std::int64_t part(std::int64_t bytes, std::size_t n, std::size_t i) {
  return nearly_equal_part(bytes, static_cast<std::int64_t>(n), static_cast<std::int64_t>(i));
}
/// A reduce-scatter or an all-gather: with `offset` 0 member i starts from part i, with 1 from the next one.
void ring_pass(MessageRounds& out, const Members& ring, std::int64_t bytes, std::size_t offset);

AffineTime ring_time(const cluster::Cluster& cluster, Group group, PassCount passes, const Crowd& crowd);
std::vector<Message> ring_messages(const cluster::Cluster& cluster, Group group, std::int64_t bytes);

/// One step of rings with equal shares of the bytes, between members[i] of the group for each index i in a ring.
/// `offset` as in ring_pass. Parts between two members are one message.
void send_step(MessageRounds& out, const std::vector<Members>& rings, const Members& members,
               std::int64_t bytes, std::size_t offset, std::size_t step);
/// Bytes of the sum that member `member` has after a reduce-scatter over the rings.
std::int64_t reduced_bytes(const std::vector<Members>& rings, std::int64_t bytes, std::size_t member);
AffineTime rings_time(const DisjointRings& found, PassCount passes);

extern const Algorithm kRing, kTree, kHalvingDoubling, kHierarchical, kDoubleTree, kDisjointRings;

}  // namespace penstock::collective
