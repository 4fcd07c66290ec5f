#pragma once
// What of weights, gradients and optimizer state the devices with equal weights hold: a copy each, or a part.

#include <cstdint>
#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::plan {

/// On the mesh dimensions data and context, in DTensor's terms.
enum class OverReplicas : std::uint8_t { replicate, shard };

/// ZeRO (Rajbhandari et al., SC 2020) and FSDP (Zhao et al., VLDB 2023): the one place that says what a
/// stage's `zero` means. Where `zero_over` leaves several groups that share, each holds all of it, and
/// gradients are summed within each first and then across (FSDP's hybrid sharding, section 3.2.2).
struct ReplicaPlacement {
  OverReplicas weights = OverReplicas::replicate;
  OverReplicas gradients = OverReplicas::replicate;
  OverReplicas state = OverReplicas::replicate;  ///< of the optimizer; whoever shares anything shares this
  std::int64_t shards = 1;                       ///< devices that hold one part each of what is sharded
  std::int64_t copies = 1;                       ///< of each part
  std::int64_t expert_shards = 1;                ///< devices that hold one part each of a mixture's experts

  bool shards_weights() const { return weights == OverReplicas::shard; }
  bool shards_gradients() const { return gradients == OverReplicas::shard; }
  bool shards_state() const { return state == OverReplicas::shard; }
  /// Bytes of `all` on one device, of which `experts` are a mixture's; parts are rounded up.
  core::Bytes held(core::Bytes all, core::Bytes experts, OverReplicas how) const {
    const auto part = [](core::Bytes bytes, std::int64_t ways) {
      return core::Bytes((bytes.value() + ways - 1) / ways);
    };
    if (how == OverReplicas::replicate) return all;
    if (expert_shards == shards) return part(all, shards);
    return part(all - experts, shards) + part(experts, expert_shards);
  }
};

/// Without other devices of equal weights everything is replicated, whatever `zero` says.
ReplicaPlacement replica_placement(const Stage& stage);

/// Devices of equal weights: of every replica and context group one.
std::vector<std::vector<core::DeviceId>> replica_groups(const Stage& stage);
/// Parts of these that share, neighbours each; the same groups where there is one part each.
std::vector<std::vector<core::DeviceId>> shard_groups(const Stage& stage);
/// Devices that hold the same part.
std::vector<std::vector<core::DeviceId>> copy_groups(const Stage& stage);

}  // namespace penstock::plan
