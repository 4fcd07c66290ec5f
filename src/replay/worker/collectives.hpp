#pragma once
// Collectives on tensors among the devices of a tensor-parallel group.

#include "worker/device.hpp"
#include "worker/sharding.hpp"

namespace penstock::replay {

/// In place, in the order of the group: all end with identical bits. Sums are in fp32. One collective, taking
/// `time`.
void all_reduce(DeviceContext& device, const std::vector<Lease>& terms, core::Seconds time);
/// Like all_reduce, among these peers.
void all_reduce(DeviceContext& device, GroupPeers& peers, const std::vector<Lease>& terms,
                core::Seconds time);

/// A tensor of `samples` times `count` numbers.
struct TensorExtent {
  std::int64_t samples, count;
};
/// Reshards the tensor from `from` to `to`, by a collective if a device lacks numbers.
Lease reshard(DeviceContext& device, const Lease& tensor, const TensorSharding& from,
              const TensorSharding& to, TensorExtent extent, plan::MemoryKind kind, const std::string& what,
              core::Seconds time);

/// A tensor of `count` numbers per sample, resharded into a buffer.
struct TensorResharding {
  Lease tensor;
  TensorSharding from, to;
  std::int64_t count;
  Lease into;
};
/// Reshards several tensors at once: one collective, taking `time`.
void reshard(DeviceContext& device, const std::vector<TensorResharding>& tensors, std::int64_t samples,
             core::Seconds time);

/// Whole tensors of `count` numbers per sample, of which every device has a term; each device gets its shard
/// of the sum.
struct SumScattering {
  Lease term;
  TensorSharding to;
  std::int64_t count;
  Lease into;
};
/// Sums are in fp32, in the order of the group. One collective, taking `time`.
void reduce_scatter(DeviceContext& device, const std::vector<SumScattering>& tensors, std::int64_t samples,
                    core::Seconds time);

/// Fills `into` with `own` of the previous device; the first device gets that of the last one. One
/// collective, taking `time`.
void shift(DeviceContext& device, const std::vector<Lease>& own, const std::vector<Lease>& into,
           core::Seconds time);

/// Bytes that another device of the group has, at the same place of the same buffer.
struct MissingBytes {
  std::size_t member, buffer;
  core::Bytes offset, bytes;
};
/// Fetches the missing bytes from the other members. No member may lack bytes that another one fetches from
/// it.
void complete(DeviceContext& device, const std::vector<Lease>& buffers,
              const std::vector<MissingBytes>& missing, core::Seconds time);

}  // namespace penstock::replay
