#pragma once
// Interface between a device and the others of its tensor-parallel or context group.

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "penstock/core/units.hpp"

namespace penstock::replay {

/// The other devices of the group. All devices share in the same order, each from the thread that runs its
/// instructions.
class GroupPeers {
 public:
  using Shared = std::vector<std::span<const std::byte>>;
  virtual ~GroupPeers() = default;
  /// Shares data with the group. Returns once every member has shared its data and used that of the others;
  /// no member changes its data meanwhile. Calls `use` once, with the data of each device in the order of the
  /// group. In the time of the replay it takes `time` from the arrival of the last member. Throws if another
  /// device fails.
  virtual void share(const Shared& own, core::Seconds time,
                     const std::function<void(const std::vector<Shared>&)>& use) = 0;
};

}  // namespace penstock::replay
