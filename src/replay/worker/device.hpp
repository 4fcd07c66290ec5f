#pragma once
// State that the stages of one device share.

#include <map>
#include <tuple>

#include "groups/part_of_peers.hpp"
#include "penstock/kernels/wiring.hpp"
#include "penstock/replay/peers.hpp"
#include "penstock/replay/training.hpp"
#include "worker/division.hpp"
#include "worker/pool.hpp"

namespace penstock::replay {

/// Operators of one shape share a kernel, because a device runs one at a time.
class KernelCache {
 public:
  KernelCache(kernels::Backend& backend, kernels::Precision precision)
      : backend_(backend), precision_(precision) {}
  kernels::Kernel& of(const graph::Operator& op, std::int64_t samples);
  kernels::Kernel& core_of(const graph::Operator& attention, std::int64_t samples);

 private:
  using Key = std::tuple<graph::OpKind, graph::Attributes, std::int64_t>;
  kernels::Backend& backend_;
  kernels::Precision precision_;
  std::map<Key, std::unique_ptr<kernels::Kernel>> kernels_, cores_;
};

struct DeviceContext {
  kernels::Backend& backend;
  const graph::OpGraph& graph;
  const cluster::Cluster& cluster;
  TrainingSetup setup;
  std::shared_ptr<BufferPool> pool;
  std::vector<kernels::OperatorWiring> wires;  ///< [operator] wires of whole operators
  OperatorDivision division;
  GroupPeers* peers = nullptr;           ///< the others of its group
  std::optional<PartOfPeers> replica{};  ///< its subset of the peers, if expert groups share in addition
  std::optional<PartOfPeers> experts{}, holders{};  ///< its expert group; devices with the same experts
  std::optional<cost::GroupTimes> group_times;
  std::unique_ptr<kernels::Stream> stream;
  KernelCache kernels;
  std::vector<double> losses{};  ///< of mini-batches so far, if requested

  DeviceContext(kernels::Backend& backend, const cost::Problem& problem, const plan::Plan& plan,
                core::DeviceId device, const TrainingSetup& setup);
  /// `all`: peers of the whole group (replay::PeerGroups).
  void join(GroupPeers& all);
  const kernels::OperatorWiring& wire(core::OpId id) const { return wires[id.index()]; }
  const OperatorShard& shard(core::OpId id) const { return division.shard(id); }
  /// Number of samples that the device has of an operator's output. Throws BadInput if it has none.
  std::int64_t samples(core::OpId id, std::int64_t all) const;
  bool dispatches(core::OpId id) const { return division.has(id) && shard(id).dispatches; }
  bool grouped() const { return division.members() > 1; }
  /// Time of collectives in its group.
  core::Seconds time(const std::vector<layout::GroupCollective>& collectives, std::int64_t samples) const;
  /// Writes this device's shard of a parameter, before the first update.
  void write_first_weights(kernels::ParameterRef parameter, kernels::Buffer& to);
  const std::string& name(core::OpId id) const { return graph.op(id).name; }

  Lease like(const kernels::Buffer& other, plan::MemoryKind kind, const std::string& what);
  Lease zeros(kernels::Element element, std::int64_t count, plan::MemoryKind kind, const std::string& what);
};

}  // namespace penstock::replay
