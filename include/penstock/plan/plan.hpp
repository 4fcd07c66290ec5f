#pragma once
// What a training strategy is: a DAG of stages on devices, with micro-batch sizes and a schedule.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/core/ids.hpp"

namespace penstock::plan {

/// GraphPipe (Jeon et al., ASPLOS 2025, section 3) calls it S_i = (G_i, b_i, D_i, Pi_i).
struct Stage {
  std::vector<core::OpId> operators;   ///< ascending; a convex set
  /// Data-parallel replicas: each micro-batch is split over them or, without a flush, given to one in turn. Stages
  /// share all their devices or none.
  std::vector<core::DeviceId> devices;
  std::int64_t micro_batch = 1;        ///< samples, b_i
  int k = 1;                      ///< k of the kFkB schedule: forwards, then backwards, in runs of k
  std::int64_t in_flight = 0;          ///< samples held between their forward and backward pass, i_i
  std::vector<core::StageId> after;    ///< order imposed beyond data dependencies (a forced sequence)
  /// Keeps only what enters the stage and runs the forward again before each backward pass (Chen et al., Training Deep Nets
  /// with Sublinear Memory Cost, 2016; whole stages, as GPipe and PipeDream-2BW do).
  bool recompute = false;
};

enum class Optimizer : std::uint8_t { sgd, momentum, adam };
std::string_view name(Optimizer optimizer);
Optimizer optimizer(std::string_view name);  ///< throws BadInput for an unknown name

/// Readers refuse larger mini-batches: beyond any real one, and small enough that samples times bytes stay exact.
inline constexpr std::int64_t kMostSamples = std::int64_t{1} << 24;
/// Forward and backward passes of an iteration, on all devices: what the simulator can hold.
inline constexpr std::int64_t kMostPasses = std::int64_t{1} << 26;

/// What is trained with, besides model and cluster.
struct Training {
  std::int64_t mini_batch = 1;  ///< samples per iteration
  Optimizer optimizer = Optimizer::sgd;
};

/// A model of the zoo with parameters, or a model file.
struct ModelRef {
  std::string name;
  std::map<std::string, std::string> parameters;
};

struct ClusterRef {
  std::string name;  ///< name or path of a cluster file
  int devices = 0;   ///< how many of its devices take part
};

struct Plan {
  ModelRef model;
  ClusterRef cluster;
  std::string planner;  ///< who made it; "hand" for a plan written by hand
  Training training;
  std::string schedule = "1f1b";  ///< a family of schedule::grid_families(), or a grid file (*.csv)
  std::vector<Stage> stages;  ///< in topological order of the stage graph
};

/// Whether mini-batches follow each other without a flush: pipedream, pipedream_vsync, pipedream_2bw, pipemare, xpipe. The replicas of a
/// stage then take whole micro-batches in turn (PipeDream's 1F1B-RR, Narayanan et al., SOSP 2019, section 3.2).
bool asynchronous(const Plan& plan);

/// Samples of a micro-batch on the fullest of `replicas` devices.
inline std::int64_t samples_per_device(std::int64_t micro_batch, std::int64_t replicas) {
  return (micro_batch + replicas - 1) / replicas;
}
/// The same of a stage's devices, which share a micro-batch or take them in turn.
std::int64_t samples_per_device(const Plan& plan, const Stage& stage);

/// Stages that share their devices run on one rank; ranks are numbered by their first stage. Indexed by StageId.
std::vector<std::int32_t> rank_of_stage(const Plan& plan);

}  // namespace penstock::plan
