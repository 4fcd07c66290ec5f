#pragma once
// What the devices of a tensor-parallel group do with a tensor together.

#include "worker/device.hpp"
#include "worker/sharding.hpp"

namespace penstock::replay {

/// In place, in the order of the group: all end with the same bits. Sums are in fp32. One collective, of
/// `time`.
void all_reduce(Device& device, const std::vector<Lease>& terms, core::Seconds time);

/// A tensor of `samples` times `count` numbers.
struct Extent {
  std::int64_t samples, count;
};
/// The same numbers sharded as `to`. Devices talk to each other where one lacks something.
Lease reshard(Device& device, const Lease& tensor, const Sharding& from, const Sharding& to, Extent extent,
              plan::MemoryKind kind, const std::string& what, core::Seconds time);

/// Bytes that another device of the group has, at the same place of the same buffer.
struct Missing {
  std::size_t member, buffer;
  core::Bytes offset, bytes;
};
/// Fills in what is missing; nobody misses what another one takes from it.
void complete(Device& device, const std::vector<Lease>& buffers, const std::vector<Missing>& missing,
              core::Seconds time);

}  // namespace penstock::replay
