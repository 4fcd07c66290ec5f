#pragma once
// A training strategy: a DAG of stages on devices, with micro-batch sizes and a schedule.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/ids.hpp"
#include "penstock/core/units.hpp"
#include "penstock/plan/mixed_precision.hpp"
#include "penstock/plan/recomputation.hpp"

namespace penstock::plan {

/// How an operator is divided over the devices of a tensor-parallel group: not at all, by samples, by output,
/// by input, or by the tokens of a sequence. By output is column-parallel: columns of a matrix, channels,
/// heads. By input is row-parallel: rows of a matrix, vocabulary. AccPar (Song et al., HPCA 2020) calls the
/// second to fourth types I, III and II. layout/rule.hpp states the placements that each needs,
/// cost/sharding.hpp its costs.
enum class Partition : std::uint8_t { whole, batch, column, row, sequence };
std::string_view name(Partition partition);
/// Parses the name of a partition, including the words of older files: output (column), input (row). Throws
/// BadInput for an unknown name.
Partition partition(std::string_view name);

/// How attention gets the keys and values of tokens on other devices of a context group. `ring` passes blocks
/// from device to device while the block before is computed (Liu et al., Ring Attention, ICLR 2024).
/// `all_gather` first gathers all of them (Llama Team, The Llama 3 Herd of Models, 2024, section 3.3.2).
/// `ulysses` exchanges tokens for heads and back (Jacobs et al., DeepSpeed Ulysses, 2023).
enum class ContextExchange : std::uint8_t { ring, all_gather, ulysses };
std::string_view name(ContextExchange exchange);
ContextExchange context_exchange(std::string_view name);  ///< throws BadInput for an unknown name

/// Place of a part among the parts of a colocated stage (plan/colocated.hpp).
struct StagePart {
  std::int64_t before = 0;  ///< replicas of the parts before it
  std::int64_t of = 0;      ///< replicas of all parts; 0: the stage is not colocated
  explicit operator bool() const { return of > 0; }
  friend bool operator==(const StagePart&, const StagePart&) = default;
};

/// A pipeline stage. GraphPipe (Jeon et al., ASPLOS 2025, section 3) writes it as S_i = (G_i, b_i, D_i,
/// Pi_i).
struct Stage {
  std::vector<core::OpId> operators;  ///< ascending; a convex set
  /// Devices of the data-parallel replicas, one replica after the other. A replica consists of
  /// `context_parallel` tensor-parallel groups (plan/mesh.hpp). Replicas split every micro-batch; without a
  /// flush they take micro-batches in turn. Two stages share all their devices or none.
  std::vector<core::DeviceId> devices;
  std::int64_t micro_batch = 1;  ///< samples of all replicas, or of one without a flush; b_i
  int k = 1;                     ///< k of the kFkB schedule: forwards, then backwards, in runs of k
  std::int64_t in_flight = 0;    ///< samples held between their forward and backward pass, i_i
  /// Stages that must run before it, beyond data dependencies (a forced sequence)
  std::vector<core::StageId> after;
  Recomputation recompute{};  ///< operators recomputed before each backward pass
  /// Devices that compute every operator of a replica together (Shoeybi et al., Megatron-LM, 2019).
  int tensor_parallel = 1;
  std::map<core::OpId, Partition>
      partition{};  ///< [operator] partition; other operators follow the rule of layout/infer.hpp
  /// [device of a group] share of an operator's work; empty: equal shares.
  std::vector<std::int64_t> shares{};
  /// ZeRO stage (Rajbhandari et al., SC 2020). Replicas, and with context parallelism their context groups,
  /// shard the optimizer state (1), also gradients (2), also weights (3).
  int zero = 0;
  /// Devices per sharding group, among those with equal weights; several groups hold complete copies (FSDP's
  /// hybrid sharding). 0: one group with all devices. See plan/replica_placement.hpp.
  std::int64_t zero_over = 0;
  /// Sequence parallelism: work and tensors that every device of a group would repeat are divided by tokens
  /// (Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, MLSys 2023, section
  /// 4.2).
  bool sequence_parallel = false;
  /// Tensor-parallel groups of a replica that divide the tokens of every sample among themselves, in all
  /// operators (Megatron-LM's context parallelism). Each group has early and late tokens of a sequence, so
  /// that a causal mask leaves all groups equal work.
  int context_parallel = 1;
  ContextExchange context_exchange = ContextExchange::ring;
  /// Replicas (with their context groups) that divide the experts of every mixture (Lepikhin et al., GShard,
  /// ICLR 2021; Megatron-LM's expert parallelism). Each sends its rows to the devices of their experts, and
  /// receives the results. All other weights are on every replica.
  int expert_parallel = 1;
  /// True: tensor parallelism divides no expert. The devices of a tensor-parallel group are then further
  /// members of expert groups (Liu et al., MoE Parallel Folding, 2025; Megatron-LM's
  /// --expert-tensor-parallel-size 1). Needs sequence parallelism: each device sends the rows of its tokens.
  bool whole_experts = false;
  /// Rows of the fullest device of an expert-parallel group over the mean; at least 1. A router without
  /// capacity may send any number of rows to a device; a capacity factor limits it.
  double imbalance = 1;
  /// For a colocated stage: position of this part. The replicas of all parts share every micro-batch;
  /// `devices` holds only those of this part.
  StagePart part{};

  std::int64_t replicas() const { return static_cast<std::int64_t>(devices.size()) / replica_size(); }
  /// Replicas that share a micro-batch: those of this stage, and of the other parts of a colocated stage.
  std::int64_t sharing_replicas() const { return part ? part.of : replicas(); }
  /// First sample of a replica's share within a micro-batch, if replicas share micro-batches.
  std::int64_t share_start(std::int64_t replica) const {
    return micro_batch * (part.before + replica) / sharing_replicas();
  }
  /// True if other ranks run parts of the same stage.
  bool spans_ranks() const { return part && part.of != replicas(); }
  /// Devices of one replica.
  std::int64_t replica_size() const;
  /// Devices that hold the same weights: all replicas of all parts, times the groups of dimensions that do
  /// not divide weights.
  std::int64_t weight_replicas() const;
  /// Number of devices among which expert groups are formed: those with equal weights, and with whole experts
  /// their tensor-parallel neighbours.
  std::int64_t expert_places() const { return weight_replicas() * (whole_experts ? tensor_parallel : 1); }
  /// Devices that hold the same experts.
  std::int64_t expert_replicas() const { return expert_places() / expert_parallel; }
  /// True if experts and other weights are not on the same groups of devices.
  bool experts_apart() const { return expert_parallel > 1 || whole_experts; }
  /// True if some weights are on several devices, so that ZeRO has something to shard.
  bool has_copies() const { return weight_replicas() > 1 || (whole_experts && expert_replicas() > 1); }
  friend bool operator==(const Stage&, const Stage&) = default;
};

/// Dimensions of a stage's devices (plan/mesh.hpp), outermost first, in Megatron-LM's order "tp-cp-dp": the
/// devices of one tensor-parallel group are consecutive in Stage::devices, and the next context group
/// follows.
enum class MeshDim : std::uint8_t {
  data,     ///< replicas: each has different samples
  context,  ///< context groups: each has different tokens of one replica's samples
  tensor,   ///< devices that compute the operators of one group together
};

/// A dimension that divides the work of a replica, so that a plan must state its size.
struct StatedDim {
  MeshDim dim;
  std::string_view key;      ///< key in plan files
  std::string_view letters;  ///< letters in strategies, such as "TP"
  std::string_view groups;   ///< name of its groups
  bool divides_weights;
  int Stage::*size;
};
inline constexpr std::array<StatedDim, 2> kStatedDims = {
    {{MeshDim::context, "context_parallel", "CP", "context groups", false, &Stage::context_parallel},
     {MeshDim::tensor, "tensor_parallel", "TP", "tensor-parallel groups", true, &Stage::tensor_parallel}}};

inline std::int64_t Stage::replica_size() const {
  std::int64_t out = 1;
  for (const StatedDim& stated : kStatedDims) out *= this->*stated.size;
  return out;
}
inline std::int64_t Stage::weight_replicas() const {
  std::int64_t out = part ? part.of : replicas();
  for (const StatedDim& stated : kStatedDims)
    if (!stated.divides_weights) out *= this->*stated.size;
  return out;
}

/// True if a stage has gradients to reduce after a mini-batch; with ZeRO 3 every backward pass already has.
bool reduces_gradients(const Stage& stage);

/// Update rules. `muon` orthogonalises matrices, `adam8bit` holds moments of large tensors in 8 bits (torchao);
/// both leave the other weights to adam (cost::UpdatedWeights). `lion` has one momentum (Chen et al., Symbolic
/// Discovery of Optimization Algorithms, NeurIPS 2023).
enum class Optimizer : std::uint8_t { sgd, momentum, adam, lion, muon, adam8bit };
std::string_view name(Optimizer optimizer);
Optimizer optimizer(std::string_view name);  ///< throws BadInput for an unknown name

/// Maximum mini-batch that readers accept: beyond any real one, and small enough that samples times bytes
/// stay exact.
inline constexpr std::int64_t kMostSamples = std::int64_t{1} << 24;
/// Maximum number of forward and backward passes of an iteration on all devices: the simulator's limit.
inline constexpr std::int64_t kMostPasses = std::int64_t{1} << 26;

/// Bytes sent per byte, above 0 and at most 1, for sparse or quantised messages. Compression itself takes no
/// time.
struct Compression {
  double gradients = 1;    ///< gradients of weights that replicas reduce
  double activations = 1;  ///< tensors between stages, and their gradients
  core::Bytes gradient_bytes(core::Bytes bytes) const { return sent(bytes, gradients); }
  core::Bytes activation_bytes(core::Bytes bytes) const { return sent(bytes, activations); }

 private:
  static core::Bytes sent(core::Bytes bytes, double ratio);  ///< rounded up
};

/// Default size of DistributedDataParallel's gradient buckets (bucket_cap_mb).
inline constexpr core::Bytes kUsualBucket{std::int64_t{25} << 20};

/// Training settings other than model and cluster.
struct Training {
  std::int64_t mini_batch = 1;  ///< samples per iteration
  Optimizer optimizer = Optimizer::sgd;
  Compression compression{};
  std::optional<MixedPrecision> precision{};  ///< none: everything in the precision of the model
  /// Bucket size. Gradients of at least this many bytes are reduced together as soon as the last backward
  /// pass has made them, while it continues (Li et al., PyTorch Distributed, VLDB 2020, section 3.2.3). 0:
  /// all gradients of a stage at once, after the pass.
  core::Bytes bucket = kUsualBucket;

  /// Bytes for `weights` bytes of weights. gradients: as summed. held_gradients: also those of a pass if
  /// stored separately. sent_gradients: as sent. optimizer_state: moments and master weights. step_traffic:
  /// gradients (read), moments and updated weights (read and written), and the model's weights if separate
  /// (written). With master weights, gradients are also zeroed, and scaled by their norm, as mixed precision
  /// requires (Micikevicius et al., ICLR 2018, section 3.2) and Megatron-LM does. All weights are those that
  /// the named optimizer updates itself; those that it leaves to by_adam() have more state.
  core::Bytes gradients(core::Bytes weights) const;
  core::Bytes held_gradients(core::Bytes weights) const;
  core::Bytes sent_gradients(core::Bytes weights) const;
  core::Bytes optimizer_state(core::Bytes weights) const;
  core::Bytes step_traffic(core::Bytes weights) const;
  /// These settings with adam as the optimizer.
  Training by_adam() const;
  /// Bytes of gradients sent per byte of weights.
  double sent_per_weight() const;
};

/// A model of the zoo with its parameters, or a model file.
struct ModelRef {
  std::string name;
  std::map<std::string, std::string> parameters;
  std::string label{};  ///< name in tables; "": `name` and `parameters`
};

struct ClusterRef {
  std::string name;       ///< name or path of a cluster file
  int devices = 0;        ///< devices that take part
  std::string runtime{};  ///< runtime of the hosts (cluster::runtime); "": that of the cluster file
  /// Bytes per device that plans leave free (Cluster::reserving); none: the value of the cluster file.
  std::optional<core::Bytes> reserved{};
};

struct Plan {
  ModelRef model;
  ClusterRef cluster;
  std::string planner;  ///< name of the planner; "hand" for a plan written by hand
  Training training;
  std::string schedule = "1f1b";  ///< a family of schedule::families(), or a schedule file (*.csv)
  std::vector<Stage> stages;      ///< in topological order of the stage graph
};

/// True if mini-batches follow each other without a flush: pipedream, pipedream_vsync, pipedream_2bw,
/// pipemare, xpipe. The replicas of a stage then take whole micro-batches in turn (PipeDream's 1F1B-RR,
/// Narayanan et al., SOSP 2019, section 3.2).
bool asynchronous(const Plan& plan);

/// Samples of a micro-batch on the fullest of `replicas` devices.
inline std::int64_t samples_per_device(std::int64_t micro_batch, std::int64_t replicas) {
  return (micro_batch + replicas - 1) / replicas;
}
/// Samples of a micro-batch on the fullest device of a stage. Replicas share a micro-batch (with the other
/// parts of a colocated stage), or take micro-batches in turn.
std::int64_t samples_per_device(const Plan& plan, const Stage& stage);

/// [StageId] rank of a stage. Stages that share their devices run on one rank; ranks are numbered in the
/// order of their first stage.
std::vector<std::int32_t> rank_of_stage(const Plan& plan);

}  // namespace penstock::plan
