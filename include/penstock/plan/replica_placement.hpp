#pragma once
// Placement of weights, gradients and optimizer state on devices with equal weights: replicated or sharded.

#include <cstdint>
#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::plan {

/// Placement on the mesh dimensions data and context, in DTensor's terms.
enum class OverReplicas : std::uint8_t { replicate, shard };

/// Meaning of a stage's `zero` (ZeRO: Rajbhandari et al., SC 2020; FSDP: Zhao et al., VLDB 2023). If
/// `zero_over` leaves several sharding groups, each holds a complete copy. Gradients are summed within each
/// group first and then across groups (FSDP's hybrid sharding, section 3.2.2).
struct ReplicaPlacement {
  OverReplicas weights = OverReplicas::replicate;
  OverReplicas gradients = OverReplicas::replicate;
  OverReplicas state = OverReplicas::replicate;  ///< optimizer state; sharded if anything is
  std::int64_t shards = 1;                       ///< devices that hold one part each of what is sharded
  std::int64_t copies = 1;                       ///< copies of each part
  std::int64_t expert_shards = 1;                ///< devices that hold one part each of a mixture's experts
  std::int64_t whole_experts = 0;  ///< experts of a layer, where no part is less than one; 0: parts are equal

  bool shards_weights() const { return weights == OverReplicas::shard; }
  bool shards_gradients() const { return gradients == OverReplicas::shard; }
  bool shards_state() const { return state == OverReplicas::shard; }
  /// Bytes on one device for `all` bytes, of which `experts` belong to a mixture; parts are rounded up.
  core::Bytes held(core::Bytes all, core::Bytes experts, OverReplicas how) const {
    if (how == OverReplicas::replicate) return all;
    if (expert_shards == shards && whole_experts == 0) return part(all, 1, shards);
    return part(all - experts, 1, shards) + part_of_experts(experts);
  }
  /// Bytes of a mixture's experts once gathered: every device sends a part of the same size.
  core::Bytes gathered(core::Bytes experts) const {
    return whole_experts == 0 ? experts : part_of_experts(experts) * expert_shards;
  }

 private:
  static core::Bytes part(core::Bytes bytes, std::int64_t taken, std::int64_t ways) {
    return core::Bytes((bytes.value() * taken + ways - 1) / ways);
  }
  core::Bytes part_of_experts(core::Bytes experts) const {
    if (whole_experts == 0) return part(experts, 1, expert_shards);
    return part(experts, (whole_experts + expert_shards - 1) / expert_shards, whole_experts);
  }
};

/// Returns the placement of a stage; everything is replicated if no other device has equal weights, whatever
/// `zero` is.
ReplicaPlacement replica_placement(const Stage& stage);

/// Groups of devices with equal weights: one device of every replica and context group.
std::vector<std::vector<core::DeviceId>> replica_groups(const Stage& stage);
/// Sharding groups: consecutive devices of replica_groups; equal to those if there is one group each.
std::vector<std::vector<core::DeviceId>> shard_groups(const Stage& stage);
/// Groups of devices that hold the same shard.
std::vector<std::vector<core::DeviceId>> copy_groups(const Stage& stage);

}  // namespace penstock::plan
