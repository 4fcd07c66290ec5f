#pragma once
// Which devices of a plan form tensor-parallel or context groups.

#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::replay {

/// Groups of two devices or more; a device is in one at most. Where a stage divides experts, all its devices
/// are one: who shares among whom, PartOfPeers says.
struct Groups {
  explicit Groups(const plan::Plan& plan);

  std::vector<std::vector<core::DeviceId>> list;
  /// Index into `list`; -1: the device works alone.
  int of(core::DeviceId device) const;
};

}  // namespace penstock::replay
