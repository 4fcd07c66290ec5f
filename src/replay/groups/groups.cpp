#include "groups/groups.hpp"

#include <algorithm>

#include "penstock/plan/mesh.hpp"

namespace penstock::replay {

PeerGroups::PeerGroups(const plan::Plan& plan) {
  for (const plan::Stage& stage : plan.stages)
    if (stage.expert_parallel > 1 && of(stage.devices.front()) < 0) list.push_back(stage.devices);
  for (const plan::Stage& stage : plan.stages)
    for (auto& group : plan::Mesh(stage).groups({plan::MeshDim::context, plan::MeshDim::tensor}))
      if (group.size() > 1 && of(group.front()) < 0) list.push_back(std::move(group));
}

int PeerGroups::of(core::DeviceId device) const {
  for (std::size_t g = 0; g < list.size(); ++g)
    if (std::ranges::find(list[g], device) != list[g].end()) return static_cast<int>(g);
  return -1;
}

}  // namespace penstock::replay
