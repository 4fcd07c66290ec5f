#pragma once
// Closed formulas for the iteration time of a plan, which planners optimise.

#include <vector>

#include "penstock/cost/communication.hpp"
#include "penstock/cost/problem.hpp"
#include "penstock/plan/stage_graph.hpp"

namespace penstock::score {

/// Network that planners assume before devices are assigned, by replica count (index 0 is unused).
struct AssumedNetwork {
  /// [replicas] one message of a replica to or from the neighbouring stage. Stages hold consecutive devices,
  /// so the replicas of one stage send to the devices `replicas` further on, all at once. The slowest of
  /// these routes counts, with each link shared by the routes that cross it.
  std::vector<cost::AffineTime> link;
  /// [replicas] the slowest of the consecutive groups that a placement may use.
  std::vector<cost::AllReduce> all_reduce;
  core::Bytes bucket;  ///< Bytes of weights whose gradients are reduced together (Training::bucket); 0: all.
};
/// Returns the assumed network for stages with these numbers of devices; default: all numbers. Bytes are
/// counted before compression.
AssumedNetwork assume_network(const cluster::Cluster& cluster, const plan::Training& training,
                              std::vector<int> sizes = {});

/// Seconds per sample of one stage.
struct StageTerms {
  double compute = 0;        ///< forward and backward on the fullest replica
  double communication = 0;  ///< stage inputs and outputs of both passes, over one link direction
  double reduce = 0;         ///< exposed part of the gradient all-reduce, divided by the mini-batch
  /// Transfers overlap with compute (as in the simulator), so the slower of the two counts. The exposed part
  /// of the all-reduce adds.
  double time_per_sample() const { return (compute > communication ? compute : communication) + reduce; }
};

/// Bytes of weights whose gradients fill a bucket (Training::bucket); 0: gradients are reduced after the
/// pass.
core::Bytes bucket_of_weights(const plan::Training& training);
/// Part of an all-reduce that the last backward pass does not hide. Assumes that gradients arrive evenly over
/// the backward pass, which is two thirds of `compute`, the time of one micro-batch's passes. The last bucket
/// is never hidden. A formula for planners: simulator and bounds consider every operator.
core::Seconds exposed(core::Seconds reduce, core::Bytes weights, core::Bytes bucket, core::Seconds compute);

/// `compute`: time of one micro-batch's passes on the fullest replica, for replicas of one device each.
StageTerms stage_terms(const AssumedNetwork& network, const cost::StageLoad& load, core::Seconds compute,
                       std::int64_t micro_batch, int replicas, std::int64_t mini_batch);

struct PlanEstimate {
  double bottleneck =
      0;  ///< seconds per sample of the busiest device's stages: Eq. 1 of GraphPipe for one stage each
  core::Seconds iteration;
  std::vector<StageTerms> stages;
};

/// Estimates the iteration time: max over stages i of (B TPS_i + the time that one micro-batch's longest path
/// through i takes elsewhere, transfers in both directions included). Exact for equal stages and for a single
/// stage. Differs from the logs of GraphPipe's authors, who count one micro-batch of the slowest stage twice,
/// also on its path; otherwise both agree to all digits (tests/score). For a stage with tensor parallelism or
/// ZeRO, `compute` includes its collectives (cost/sharding.hpp). Each device of a group sends its part of a
/// message, and `reduce` is that of the device itself. Without a flush the path is left out, and a stage's R
/// replicas take R micro-batches at a time. Times of stages on the same devices add up. With v stages per
/// device the rest of the path is divided by v, because other micro-batches run meanwhile (interleaved
/// schedules: Narayanan et al., SC 2021, section 2.2.2). The iteration is never shorter than the whole path.
/// Colocated stages are on no path: the time of the busiest rank in them is added.
PlanEstimate estimate(const cost::Problem& problem, const plan::Plan& plan, const plan::StageGraph& stages);
PlanEstimate estimate(const cost::Problem& problem, const plan::Plan& plan);
/// Estimates one of many plans. `network` is assumed once, for sizes_in() of all of them, with the problem's
/// compression.
PlanEstimate estimate(const cost::Problem& problem, const plan::Plan& plan, const plan::StageGraph& stages,
                      const AssumedNetwork& network);
/// Device and replica counts of a plan's stages, ascending: the sizes that its estimate needs of the network.
std::vector<int> sizes_in(const plan::Plan& plan);

/// Seconds per sample of the busiest device: sum over its stages. `tps[i]` in seconds per sample.
double busiest_device(const plan::Plan& plan, const std::vector<double>& tps);
/// The iteration formula, for terms from any source. `tps[i]` in seconds per sample.
double iteration_seconds(const plan::Plan& plan, const plan::StageGraph& stages,
                         const std::vector<double>& tps, const AssumedNetwork& network);

}  // namespace penstock::score
