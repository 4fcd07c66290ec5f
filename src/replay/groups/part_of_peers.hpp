#pragma once
// A subset of the devices of a group.

#include "penstock/replay/peers.hpp"

namespace penstock::replay {

/// Every `stride`-th member of a group, `count` from `first` on. All members of the group share at the same
/// time, each within its own subset.
class PartOfPeers : public GroupPeers {
 public:
  PartOfPeers(GroupPeers& all, std::size_t first, std::size_t stride, std::size_t count)
      : all_(all), first_(first), stride_(stride), count_(count) {}
  void share(const Shared& own, core::Seconds time,
             const std::function<void(const std::vector<Shared>&)>& use) override {
    all_.share(own, time, [&](const std::vector<Shared>& all) {
      std::vector<Shared> part;
      for (std::size_t i = 0; i < count_; ++i) part.push_back(all[first_ + i * stride_]);
      use(part);
    });
  }

 private:
  GroupPeers& all_;
  const std::size_t first_, stride_, count_;
};

}  // namespace penstock::replay
