#pragma once
// What a plan is worth on paper: the closed formulas a planner optimises.

#include <vector>

#include "penstock/cost/communication.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/plan/stage_graph.hpp"

namespace penstock::score {

/// What planners assume of the network before devices are assigned, by replica count (index 0 unused).
struct Network {
  /// One message of a replica to or from the neighbouring stage. Stages hold consecutive devices, so the
  /// replicas of one talk to the devices `replicas` further on, all at once: the slowest of these routes
  /// counts, each of its links shared by the routes that cross it.
  std::vector<cost::Affine> link;
  std::vector<cost::AllReduce> all_reduce;  ///< the slowest of the consecutive groups a placement may use
  core::Bytes bucket;  ///< of weights, whose gradients are reduced together (Training::bucket); 0: all
};
/// Assumed network for stages on so many devices; for all sizes when none are named. Bytes are those before
/// compression.
Network assume_network(const cluster::Cluster& cluster, const plan::Training& training,
                       std::vector<int> sizes = {});

/// Seconds per sample of one stage.
struct StageTerms {
  double compute = 0;        ///< forward and backward on the fullest replica
  double communication = 0;  ///< stage inputs and outputs, both passes, over one link direction
  double reduce = 0;         ///< what is not hidden of the gradient all-reduce, spread over the mini-batch
  /// Transfers overlap with compute (the simulator does so), so the slower of the two counts. What the last
  /// backward pass does not hide of the all-reduce adds.
  double time_per_sample() const { return (compute > communication ? compute : communication) + reduce; }
};

/// Weights whose gradients fill a bucket (Training::bucket); 0: gradients are reduced after the pass.
core::Bytes bucket_of_weights(const plan::Training& training);
/// What the last backward pass does not hide of an all-reduce of so many weights: as if gradients came evenly
/// over the backward pass, which is two thirds of `compute`, the time of one micro-batch's passes. The last
/// bucket is never hidden. A formula for planners; what the simulator and bounds count knows every operator.
core::Seconds exposed(core::Seconds reduce, core::Bytes weights, core::Bytes bucket, core::Seconds compute);

/// `compute` is the time of one micro-batch's passes on the fullest replica, of one device each.
StageTerms stage_terms(const Network& network, const cost::StageLoad& load, core::Seconds compute,
                       std::int64_t micro_batch, int replicas, std::int64_t mini_batch);

struct Estimate {
  double bottleneck =
      0;  ///< seconds per sample of the busiest device's stages: Eq. 1 of GraphPipe for one stage each
  core::Seconds iteration;
  std::vector<StageTerms> stages;
};

/// A stage with tensor parallelism or ZeRO has its collectives (cost/sharding.hpp) in `compute`, each device
/// of a group sends its part of a message, and `reduce` is that of its own devices. iteration = max over
/// stages i of (B TPS_i + what one micro-batch's longest path through i takes elsewhere, transfers both
/// ways): exact for even stages, and for a stage that stands alone. The logs that GraphPipe's authors publish
/// count one micro-batch of the slowest stage twice, on its path too; else they agree to all digits
/// (tests/score). Without a flush the path is left out, and a stage's R replicas take R micro-batches at a
/// time. Stages that share devices add up, and v of them per device divide the rest of the path by v, as
/// other micro-batches run meanwhile (interleaved schedules: Narayanan et al., SC 2021, section 2.2.2); the
/// iteration is never shorter than the whole path. Colocated stages are on no path: what the busiest rank
/// spends on them adds.
Estimate estimate(const cost::Problem& problem, const plan::Plan& plan, const plan::StageGraph& stages);
Estimate estimate(const cost::Problem& problem, const plan::Plan& plan);
/// Estimate of one of many plans: `network` is assumed once, of sizes_in() all of them, with the problem's
/// compression.
Estimate estimate(const cost::Problem& problem, const plan::Plan& plan, const plan::StageGraph& stages,
                  const Network& network);
/// Device and replica counts of its stages, ascending: what its estimate asks the network for.
std::vector<int> sizes_in(const plan::Plan& plan);

/// Seconds per sample of the busiest device, whose stages add up. `tps[i]` in seconds per sample.
double busiest_device(const plan::Plan& plan, const std::vector<double>& tps);
/// The iteration formula alone, for terms from any source. `tps[i]` in seconds per sample.
double iteration_seconds(const plan::Plan& plan, const plan::StageGraph& stages,
                         const std::vector<double>& tps, const Network& network);

}  // namespace penstock::score
