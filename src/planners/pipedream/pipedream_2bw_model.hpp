#pragma once
// PipeDream-2BW's cost model, and the planner that its authors published temporarily.

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::planners {

/// One of several equal-purpose stages in a row, for one micro-batch.
struct TwoBwStage {
  double forward = 0;      ///< s
  double backward = 0;     ///< s
  double weights = 0;      ///< B
  double activations = 0;  ///< B, saved
  double inputs = 0;       ///< B
  double outputs = 0;      ///< B
};

struct TwoBwShape {
  int width = 1;           ///< w: replicas of every stage
  std::int64_t turns = 1;  ///< m: micro-batches of a replica per update
  bool recompute = false;
  double width_bandwidth = 0;  ///< B/s between replicas, for bytes of weights before compression
  double depth_bandwidth = 0;  ///< B/s between stages, for bytes of activations before compression
};

/// Seconds per micro-batch of a replica: the slowest stage's compute and transfers, or its share of an
/// all-reduce if that is slower (Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, ICML
/// 2021, appendix A). The paper charges recomputation a factor of 4/3; here it costs another forward pass,
/// which is equal if a backward pass takes two forward passes.
double two_bw_seconds(const std::vector<TwoBwStage>& stages, const TwoBwShape& shape);

/// Bytes on each device of a stage in a pipeline of `depth` stages: two versions of the weights, and
/// activations of `depth` micro-batches. With recomputation: activations of one micro-batch and the inputs of
/// the others (same source).
double two_bw_bytes(const TwoBwStage& stage, const TwoBwShape& shape, int depth);

/// Cuts a row of work into `parts` non-empty runs whose maximum is smallest; returns the ends of the runs.
/// There must be at least as many works as parts.
std::vector<std::size_t> balanced_ends(const std::vector<double>& work, int parts);

/// Formulas of the dropped planner (see below) for the slowest stage; arguments count numbers, not bytes.
/// Seconds per micro-batch of all `width` replicas together.
double dropped_two_bw_seconds(double compute, double parameters, double output, int width);
/// Bytes per worker of a pipeline of `depth` stages.
double dropped_two_bw_bytes(double parameters, double activations, int depth);

/// A model of equal blocks, as in the planner of the public code's first version. It counts elements as bytes
/// in times, and four bytes each in memory.
struct TwoBwBlocks {
  int blocks = 1;
  int workers = 1;
  double memory = 0;       ///< B per worker
  double seconds = 0;      ///< per block
  double parameters = 0;   ///< per block
  double activations = 0;  ///< elements per block
  double output = 0;       ///< elements
};
struct TwoBwAnswer {
  double seconds = 0;  ///< per micro-batch of the whole
  int width = 0;
  int depth = 0;
  double memory = 0;  ///< B per worker
};
/// Planner of the first version: over all w d = workers, with n = blocks / d blocks per stage, it minimises
///     max(t n, 2 o / 1e9, 2 (w - 1) p n / (w <= 8 ? 1e11 : 1e9)) / w seconds
/// among shapes whose 4 (2 p n + a n d) bytes fit. With fewer blocks than stages n is 0 in times, so that
/// compute is free, and 1 in memory: an error of its authors, kept for comparison. Nothing if none fits.
std::optional<TwoBwAnswer> dropped_two_bw_planner(const TwoBwBlocks& model);

}  // namespace penstock::planners
