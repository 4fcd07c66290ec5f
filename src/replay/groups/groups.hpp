#pragma once
// Devices of a plan that form tensor-parallel or context groups.

#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::replay {

/// Groups of two devices or more; a device is in at most one. If a stage divides experts, all its devices
/// form one group, and PartOfPeers selects those that share.
struct PeerGroups {
  explicit PeerGroups(const plan::Plan& plan);

  std::vector<std::vector<core::DeviceId>> list;
  /// Index into `list`; -1: the device is in no group.
  int of(core::DeviceId device) const;
};

}  // namespace penstock::replay
