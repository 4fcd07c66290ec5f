#include "penstock/layout/groups.hpp"

#include "penstock/layout/experts.hpp"
#include "penstock/plan/mesh.hpp"
#include "penstock/plan/replica_placement.hpp"

namespace penstock::layout {

bool meet(const plan::Stage& stage, Among among) {
  if (among == Among::tensor) return stage.tensor_parallel > 1;
  if (among == Among::context) return stage.context_parallel > 1;
  if (among == Among::experts) return stage.expert_parallel > 1;
  return plan::replica_placement(stage).shards_gradients() &&
         (among == Among::sharers || stage.experts_apart());
}

std::vector<std::vector<core::DeviceId>> groups(const plan::Stage& stage, Among among) {
  switch (among) {
    case Among::tensor:
      return plan::Mesh(stage).groups(plan::MeshDim::tensor);
    case Among::context:
      return plan::Mesh(stage).groups(plan::MeshDim::context);
    case Among::experts:
      return expert_groups(stage);
    case Among::sharers:
      return plan::shard_groups(stage);
    case Among::expert_sharers:
      return expert_replicas(stage);
  }
  return {};
}

}  // namespace penstock::layout
