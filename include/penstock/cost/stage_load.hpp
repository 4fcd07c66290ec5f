#pragma once
// Demands of a set of operators on the device that runs it, before micro-batch size and device count are
// chosen.

#include <optional>
#include <span>

#include "penstock/cluster/framework_memory.hpp"
#include "penstock/cost/cost_model.hpp"
#include "penstock/cost/envelope.hpp"
#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/memory_kind.hpp"
#include "penstock/plan/plan.hpp"
#include "penstock/plan/replica_placement.hpp"

namespace penstock::cost {

/// Weights of a stage by how muon or adam8bit updates them. All zero: the optimizer updates all of them itself.
struct UpdatedWeights {
  core::Bytes by_adam{};    ///< of StageLoad::parameters, those that adam updates instead
  core::Bytes experts{};    ///< of by_adam, those of mixtures
  std::int64_t tables = 0;  ///< adam8bit: tensors whose moments are in 8 bits, each with two tables
  int number_bytes = 4;     ///< of a number of the model
  core::Bytes fullest{};    ///< muon where ranks own whole matrices: those of the fullest rank
  core::Bytes padding{};    ///< of its buffers, on every rank
  friend bool operator==(const UpdatedWeights&, const UpdatedWeights&) = default;
};

/// Sums over the operators of one stage. All but `parameters` and `frozen` are per sample.
struct StageLoad {
  core::Bytes parameters;   ///< bytes of weights, copies of those that operators elsewhere own included
  core::Bytes activations;  ///< outputs, internals and copies in a second placement held for the backward
                            ///< pass. Where these are computed again: what the fullest moment of the
                            ///< backward pass holds beside `saved` and `inputs`
  core::Bytes inputs;       ///< distinct tensors received from other stages; held for the backward pass too
  core::Bytes outputs;      ///< distinct tensors that some other stage reads
  MemoryEnvelope workspace{};  ///< by samples: what the backward pass holds beside that (backward_workspace)
  core::Bytes largest{};  ///< weights of the operator that has most of them; with ZeRO 2 and 3 of the layer
  core::Bytes fresh{};    ///< the same without tables, whose gradients are added to in place
  core::Bytes statistics{};  ///< of batch norms, fp32 mean and variance of every channel: of a micro-batch,
                             ///< however many samples it has, for as long as `activations`
  MemoryLine deferred{};     ///< by samples: what a split backward pass leaves to its weight gradients
  core::Bytes frozen{};      ///< weights that do not train: no gradient, no state, one version
  core::Bytes experts{};     ///< of `parameters`, those of mixtures
  std::int64_t
      whole_experts{};  ///< least experts of a mixture, where the framework shards whole ones only; 0: not
  core::Bytes saved{};  ///< where some are computed again, those that are held from the forward pass on
  core::Bytes
      released{};  ///< of activations, saved and inputs: what ends with the input gradient where weight
                   ///< gradients have a pass of their own (cluster::SplitBackward)
  cluster::FrameworkMemory framework{};  ///< of the framework that runs the stage
  core::Bytes bucket{};                  ///< size of each of its buckets (FrameworkMemory::bucket_numbers)
  UpdatedWeights updated{};              ///< of stages; sums over operators that belong to none leave it zero
  friend bool operator==(const StageLoad&, const StageLoad&) = default;
};

/// StageLoad::statistics of one operator.
core::Bytes batch_statistics(const graph::Operator& op);

/// `costs` decides what scratch the operators' kernels want. `released` is what all_saved releases.
StageLoad stage_load(const graph::OpGraph& graph, const CostModel& costs,
                     std::span<const core::OpId> operators,
                     cluster::SplitBackward split = cluster::SplitBackward::all_saved);

/// How a planner or framework counts memory. Defaults are Penstock's: everything counted once.
struct MemoryRule {
  std::int64_t weight_copies = 1;
  std::int64_t gradient_copies = 1;    ///< weight gradients, accumulated over the mini-batch
  std::int64_t activation_copies = 1;  ///< GraphPipe's logs count a tensor and its gradient: 2
  bool optimizer_state = true;         ///< moments (sgd 0, momentum and lion 1, adam 2) and master weights
  bool transient = true;               ///< workspace and receive buffers
};

/// Bytes on each of the stage's devices. `samples` of each micro-batch fall to one device; `in_flight` counts
/// micro-batches. Receive buffers: one micro-batch of inputs ahead of the one computed, and two of gradients
/// of outputs (one in use, one arriving). `whole` of them hold what they keep, the others, which are
/// recomputed, only what is saved and the inputs; default: all. A device keeps one part of what replicas
/// shard, rounded up. Its workspace holds a table's gradient, or a layer's, before it is scattered. It also
/// holds sharded weights of the layer, or operator, that are in use and of one that arrive. Memory of the
/// optimizer's step and of buckets: step_memory.hpp.
plan::MemoryByKind stage_memory(const StageLoad& load, const MemoryRule& rule, const plan::Training& training,
                                std::int64_t samples, std::int64_t in_flight,
                                std::optional<std::int64_t> whole = {},
                                plan::ReplicaPlacement placement = {});

using plan::samples_per_device;

}  // namespace penstock::cost
