#include "penstock/plan/replica_placement.hpp"

#include "penstock/plan/mesh.hpp"

namespace penstock::plan {

ReplicaPlacement replica_placement(const Stage& stage) {
  const std::int64_t all = stage.weight_replicas();
  if (!stage.has_copies() || stage.zero == 0) return {};
  const auto from = [&](int zero) {
    return stage.zero >= zero ? OverReplicas::shard : OverReplicas::replicate;
  };
  const std::int64_t shards = stage.zero_over == 0 ? all : stage.zero_over;
  const std::int64_t expert_shards = stage.experts_apart() ? stage.expert_replicas() : shards;
  return {from(3), from(2), from(1), shards, all / shards, expert_shards};
}

std::vector<Mesh::Devices> replica_groups(const Stage& stage) {
  return Mesh(stage).groups({MeshDim::data, MeshDim::context});
}

std::vector<Mesh::Devices> shard_groups(const Stage& stage) {
  const auto size = static_cast<std::size_t>(replica_placement(stage).shards);
  std::vector<Mesh::Devices> out;
  for (const Mesh::Devices& group : replica_groups(stage))
    for (std::size_t d = 0; d < group.size(); ++d) {
      if (d % size == 0) out.emplace_back();
      out.back().push_back(group[d]);
    }
  return out;
}

std::vector<Mesh::Devices> copy_groups(const Stage& stage) {
  const auto size = static_cast<std::size_t>(replica_placement(stage).shards);
  std::vector<Mesh::Devices> out;
  for (const Mesh::Devices& group : replica_groups(stage)) {
    const std::size_t first = out.size();
    out.resize(first + size);
    for (std::size_t d = 0; d < group.size(); ++d) out[first + d % size].push_back(group[d]);
  }
  return out;
}

}  // namespace penstock::plan
