#pragma once
// What a training strategy is: a DAG of stages on devices, with micro-batch sizes and a schedule.

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

/// How an operator is divided over the devices of a tensor-parallel group: not at all, by samples, by what it
/// makes (column-parallel: columns of a matrix, channels, heads), by what it reads (row-parallel: rows of a
/// matrix, vocabulary), or by the tokens of a sequence. AccPar (Song et al., HPCA 2020) calls the second to
/// fourth types I, III and II; layout/rule.hpp says what each asks for, cost/sharding.hpp what it costs.
enum class Partition : std::uint8_t { whole, batch, column, row, sequence };
std::string_view name(Partition partition);
/// A partition by its name; words of older files are read too: output (column), input (row). Throws BadInput
/// for an unknown name.
Partition partition(std::string_view name);

/// How attention meets the keys and values of the tokens that other devices of a context group have. `ring`
/// sends blocks of them on from device to device while the block before is computed (Liu et al., Ring
/// Attention, ICLR 2024); `all_gather` has all of them first (Llama Team, The Llama 3 Herd of Models, 2024,
/// section 3.3.2); `ulysses` trades tokens for heads and back (Jacobs et al., DeepSpeed Ulysses, 2023).
enum class ContextExchange : std::uint8_t { ring, all_gather, ulysses };
std::string_view name(ContextExchange exchange);
ContextExchange context_exchange(std::string_view name);  ///< throws BadInput for an unknown name

/// Place of a part among the parts of a colocated stage (plan/colocated.hpp).
struct Part {
  std::int64_t before = 0;  ///< replicas of the parts before it
  std::int64_t of = 0;      ///< replicas of all parts; 0: the stage is not colocated
  explicit operator bool() const { return of > 0; }
  friend bool operator==(const Part&, const Part&) = default;
};

/// GraphPipe (Jeon et al., ASPLOS 2025, section 3) calls it S_i = (G_i, b_i, D_i, Pi_i).
struct Stage {
  std::vector<core::OpId> operators;  ///< ascending; a convex set
  /// Data-parallel replicas, each of `context_parallel` tensor-parallel groups, of devices that follow each
  /// other here (plan/mesh.hpp): a micro-batch is split over replicas or, without a flush, given to one in
  /// turn. Stages share all their devices or none.
  std::vector<core::DeviceId> devices;
  std::int64_t micro_batch = 1;      ///< samples of all replicas (of one without a flush), b_i
  int k = 1;                         ///< k of the kFkB schedule: forwards, then backwards, in runs of k
  std::int64_t in_flight = 0;        ///< samples held between their forward and backward pass, i_i
  std::vector<core::StageId> after;  ///< order imposed beyond data dependencies (a forced sequence)
  Recomputation recompute{};         ///< before each backward pass
  /// Devices that run every operator of a replica together (Shoeybi et al., Megatron-LM, 2019).
  int tensor_parallel = 1;
  std::map<core::OpId, Partition>
      partition{};                     ///< of some operators; the others follow the rule of layout/infer.hpp
  std::vector<std::int64_t> shares{};  ///< shares of the devices of a group in an operator; empty: all equal
  /// ZeRO stage (Rajbhandari et al., SC 2020): replicas, and with context parallelism the members of each,
  /// share optimizer state (1), gradients too (2), weights too (3).
  int zero = 0;
  /// Devices that share so, of those with equal weights; several groups of them hold all of it each (FSDP's
  /// hybrid sharding). 0: all in one. plan/replica_placement.hpp says who holds what.
  std::int64_t zero_over = 0;
  /// What every device of a group would compute, and hold between operators, is divided by tokens
  /// (Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, MLSys 2023, section
  /// 4.2).
  bool sequence_parallel = false;
  /// Tensor-parallel groups of a replica that divide the tokens of every sample among themselves, in all
  /// operators (Megatron-LM's context parallelism): each as many of a sequence's first and last tokens as of
  /// any others, so that a causal mask leaves all as much to do.
  int context_parallel = 1;
  ContextExchange context_exchange = ContextExchange::ring;
  /// Replicas, context groups among them, that divide the experts of every mixture (Lepikhin et al., GShard,
  /// ICLR 2021; Megatron-LM's expert parallelism): each sends its rows to the devices of their experts, and
  /// gets back what these made. All other weights are on every one of them.
  int expert_parallel = 1;
  /// Rows of the fullest device of such a group over the mean, at least 1: a router without capacity sends
  /// rows wherever it likes. Where a capacity factor turns rows away, no more than that.
  double imbalance = 1;
  /// Of a colocated stage: the replicas of all parts share every micro-batch, these are its own.
  Part part{};

  std::int64_t replicas() const { return static_cast<std::int64_t>(devices.size()) / replica_size(); }
  /// Replicas that share a micro-batch: its own, and those of a colocated stage's other parts.
  std::int64_t sharing_replicas() const { return part ? part.of : replicas(); }
  /// First sample, within a micro-batch, of what a replica has of it, where replicas share it.
  std::int64_t share_start(std::int64_t replica) const {
    return micro_batch * (part.before + replica) / sharing_replicas();
  }
  /// Whether other ranks run parts of the same stage.
  bool spans_ranks() const { return part && part.of != replicas(); }
  /// Devices of one replica.
  std::int64_t replica_size() const;
  /// Devices that hold the same weights: replicas of all parts, and all in them that do not divide weights.
  std::int64_t weight_replicas() const;
  /// Devices that hold the same experts.
  std::int64_t expert_replicas() const { return weight_replicas() / expert_parallel; }
  friend bool operator==(const Stage&, const Stage&) = default;
};

/// Dimensions of a stage's devices (plan/mesh.hpp), outermost first, as Megatron-LM's "tp-cp-dp": devices of
/// one tensor-parallel group follow each other in Stage::devices, and its context group's next one stands
/// behind them.
enum class MeshDim : std::uint8_t {
  data,     ///< replicas: each has samples of its own
  context,  ///< groups that have tokens of their own of one replica's samples
  tensor,   ///< devices that compute the operators of one group together
};

/// A dimension that divides the work of a replica, and so of whatever size a plan states.
struct StatedDim {
  MeshDim dim;
  std::string_view key;      ///< in plan files
  std::string_view letters;  ///< in a strategy's words
  std::string_view groups;   ///< the name of its groups
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

/// Whether a stage has gradients to reduce after a mini-batch; with ZeRO 3 every backward pass has done so
/// already.
bool reduces_gradients(const Stage& stage);

enum class Optimizer : std::uint8_t { sgd, momentum, adam };
std::string_view name(Optimizer optimizer);
Optimizer optimizer(std::string_view name);  ///< throws BadInput for an unknown name

/// Readers refuse larger mini-batches: beyond any real one, and small enough that samples times bytes stay
/// exact.
inline constexpr std::int64_t kMostSamples = std::int64_t{1} << 24;
/// Forward and backward passes of an iteration, on all devices: what the simulator can hold.
inline constexpr std::int64_t kMostPasses = std::int64_t{1} << 26;

/// Bytes sent per byte, above 0 and at most 1: what sparse or quantised messages cost; making them costs
/// nothing.
struct Compression {
  double gradients = 1;    ///< of weights, when replicas reduce them
  double activations = 1;  ///< tensors between stages, and their gradients
  core::Bytes gradient_bytes(core::Bytes bytes) const { return sent(bytes, gradients); }
  core::Bytes activation_bytes(core::Bytes bytes) const { return sent(bytes, activations); }

 private:
  static core::Bytes sent(core::Bytes bytes, double ratio);  ///< rounded up
};

/// Gradients of DistributedDataParallel's buckets, unless it is told otherwise (bucket_cap_mb).
inline constexpr core::Bytes kUsualBucket{std::int64_t{25} << 20};

/// Setting of the training, besides model and cluster.
struct Training {
  std::int64_t mini_batch = 1;  ///< samples per iteration
  Optimizer optimizer = Optimizer::sgd;
  Compression compression{};
  std::optional<MixedPrecision> precision{};  ///< none: everything in the model's numbers
  /// Gradients of at least so many bytes are reduced together as soon as the last backward pass has them,
  /// while it runs on (Li et al., PyTorch Distributed, VLDB 2020, section 3.2.3); 0: all of a stage at once,
  /// after the pass.
  core::Bytes bucket = kUsualBucket;

  /// Bytes that belong to so many bytes of weights: gradients as they are summed, the same with those of a
  /// pass where these lie beside, and as they are sent; the optimizer's moments and master weights, and what
  /// an update reads and writes: gradients (read), moments and the weights it updates (both), the model's
  /// weights where these are others (written). With master weights gradients are set to zero, their norm is
  /// taken and they are scaled by it besides, as mixed precision asks for (Micikevicius et al., ICLR 2018,
  /// section 3.2) and Megatron-LM does.
  core::Bytes gradients(core::Bytes weights) const;
  core::Bytes held_gradients(core::Bytes weights) const;
  core::Bytes sent_gradients(core::Bytes weights) const;
  core::Bytes optimizer_state(core::Bytes weights) const;
  core::Bytes step_traffic(core::Bytes weights) const;
  /// Bytes of gradients sent per byte of weights.
  double sent_per_weight() const;
};

/// A model of the zoo with parameters, or a model file.
struct ModelRef {
  std::string name;
  std::map<std::string, std::string> parameters;
  std::string label{};  ///< name in tables; "": `name` and `parameters`
};

struct ClusterRef {
  std::string name;       ///< name or path of a cluster file
  int devices = 0;        ///< how many of its devices take part
  std::string runtime{};  ///< of their hosts (cluster::runtime); "": as the cluster's file says
  /// Bytes of each device that plans leave free (Cluster::reserving); none: as the cluster's file says.
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

/// Whether mini-batches follow each other without a flush: pipedream, pipedream_vsync, pipedream_2bw,
/// pipemare, xpipe. The replicas of a stage then take whole micro-batches in turn (PipeDream's 1F1B-RR,
/// Narayanan et al., SOSP 2019, section 3.2).
bool asynchronous(const Plan& plan);

/// Samples of a micro-batch on the fullest of `replicas` devices.
inline std::int64_t samples_per_device(std::int64_t micro_batch, std::int64_t replicas) {
  return (micro_batch + replicas - 1) / replicas;
}
/// Samples of a micro-batch on the fullest of a stage's devices, which share a micro-batch (those of a
/// colocated stage with the devices of its other parts) or take them in turn.
std::int64_t samples_per_device(const Plan& plan, const Stage& stage);

/// Stages that share their devices run on one rank; ranks are numbered by their first stage. Indexed by
/// StageId.
std::vector<std::int32_t> rank_of_stage(const Plan& plan);

}  // namespace penstock::plan
