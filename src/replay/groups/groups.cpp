#include "groups/groups.hpp"

#include <algorithm>

#include "penstock/cost/sharding.hpp"

namespace penstock::replay {

Groups::Groups(const plan::Plan& plan) {
  for (const plan::Stage& stage : plan.stages)
    for (std::size_t r = 0; stage.tensor_parallel > 1 && r < static_cast<std::size_t>(stage.replicas());
         ++r) {
      const auto group = cost::group_of(stage, r);
      if (of(group.front()) < 0) list.emplace_back(group.begin(), group.end());
    }
}

int Groups::of(core::DeviceId device) const {
  for (std::size_t g = 0; g < list.size(); ++g)
    if (std::ranges::find(list[g], device) != list[g].end()) return static_cast<int>(g);
  return -1;
}

}  // namespace penstock::replay
