#pragma once
// What a device of a tensor-parallel group shares, as bytes for another process.

#include <cstdint>
#include <vector>

#include "penstock/replay/peers.hpp"

namespace penstock::replay {

using Blob = std::vector<std::byte>;

/// Whose, and for which of the group's collectives.
struct SharedNote {
  std::uint64_t group = 0, member = 0, round = 0;
};

Blob written(const SharedNote& note, const Peers::Shared& shared);
/// The spans are of `bytes`, aligned for any number. Internal error where these are not what was written.
SharedNote read_shared(const Blob& bytes, Peers::Shared& shared);

}  // namespace penstock::replay
