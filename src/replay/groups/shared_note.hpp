#pragma once
// Data that a device of a tensor-parallel group shares, as bytes for another process.

#include <cstdint>
#include <vector>

#include "penstock/replay/peers.hpp"

namespace penstock::replay {

using Blob = std::vector<std::byte>;

/// Sender, and number of the group's collective.
struct SharedNote {
  std::uint64_t group = 0, member = 0, round = 0;
};

Blob written(const SharedNote& note, const GroupPeers::Shared& shared);
/// The spans point into `bytes`, aligned for any number. Internal error if `bytes` were not written by
/// `written`.
SharedNote read_shared(const Blob& bytes, GroupPeers::Shared& shared);

}  // namespace penstock::replay
