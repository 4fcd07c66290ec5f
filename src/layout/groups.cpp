#include "penstock/layout/groups.hpp"

#include "penstock/layout/experts.hpp"
#include "penstock/plan/mesh.hpp"
#include "penstock/plan/replica_placement.hpp"

namespace penstock::layout {

bool meet(const plan::Stage& stage, GroupScope among) {
  if (among == GroupScope::tensor) return stage.tensor_parallel > 1;
  if (among == GroupScope::context) return stage.context_parallel > 1;
  if (among == GroupScope::experts) return stage.expert_parallel > 1;
  return plan::replica_placement(stage).shards_gradients() &&
         (among == GroupScope::sharers || stage.experts_apart());
}

std::vector<std::vector<core::DeviceId>> groups(const plan::Stage& stage, GroupScope among) {
  switch (among) {
    case GroupScope::tensor:
      return plan::Mesh(stage).groups(plan::MeshDim::tensor);
    case GroupScope::context:
      return plan::Mesh(stage).groups(plan::MeshDim::context);
    case GroupScope::experts:
      return expert_groups(stage);
    case GroupScope::sharers:
      return plan::shard_groups(stage);
    case GroupScope::expert_sharers:
      return expert_replicas(stage);
  }
  return {};
}

}  // namespace penstock::layout
