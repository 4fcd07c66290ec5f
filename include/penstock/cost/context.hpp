#pragma once
// Context parallelism in a stage's costs: the local problem of a group, and hops of ring attention.

#include <memory>

#include "penstock/cost/communication.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/layout/context.hpp"

namespace penstock::cost {

/// The operators of a model as one device of a stage's context and expert groups computes them; see
/// LocalProblem.
class LocalModel {
 public:
  LocalModel(const graph::OpGraph& graph, const plan::Stage& stage);
  /// Local model of the stage, made once for each size where the problem remembers (StageMemo).
  LocalModel(const Problem& problem, const plan::Stage& stage);
  const graph::OpGraph& get() const { return divided_ ? *divided_ : graph_; }

 private:
  const graph::OpGraph& graph_;
  std::shared_ptr<const graph::OpGraph> divided_;  ///< null: the model itself
};

/// The problem with the operators that one context group of the stage computes (layout::local_graph), and the
/// fullest device of its expert groups (layout::expert_graph). For a stage without either it is the problem
/// itself, which must outlive it.
class LocalProblem {
 public:
  LocalProblem(const Problem& problem, const plan::Stage& stage);
  const Problem& get() const { return problem_; }

 private:
  LocalModel model_;
  Problem problem_;
};

/// One message from each device of every group to the next of its group, all at once.
AffineTime ring_hop(const cluster::Cluster& cluster, std::span<const std::vector<core::DeviceId>> groups);

/// Seconds that passes of an attention wait for tokens on their way round its context group. There are c
/// blocks of keys and values; each of c - 1 arrives while the core computes the one before. Going back their
/// gradients travel along, and make one more hop to their owner, which nothing hides. Workspace has all keys
/// and values, and their gradients, while an attention runs backward, which a ring need not (plain_scratch).
/// Differs: hops slow no kernel down, and all devices begin together.
class RingTimes {
 public:
  RingTimes(const cluster::Cluster& cluster, const plan::Stage& stage);
  /// `keys_values` of one tensor-parallel member, of all samples; `core` seconds of its core, forward and
  /// back. No hop takes less than `launch`, that of the host. Recomputation is left out.
  OpTime time(core::Bytes keys_values, core::Seconds core_forward, core::Seconds core_backward,
              core::Seconds launch) const;

 private:
  int size_;
  AffineTime hop_;
};

}  // namespace penstock::cost
