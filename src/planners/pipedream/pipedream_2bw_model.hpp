#pragma once
// PipeDream-2BW's cost model, and the planner its authors published for a while.

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::planners {

/// One of the stages in a row, for one micro-batch.
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
  double width_bandwidth = 0;  ///< B/s between replicas, in bytes of weights before compression
  double depth_bandwidth = 0;  ///< B/s between stages, likewise of activations
};

/// Seconds per micro-batch of a replica: the slowest stage's compute and transfers, or its share of an
/// all-reduce if that is slower (Narayanan et al., Memory-Efficient Pipeline-Parallel DNN Training, ICML
/// 2021, appendix A). There recomputation costs a factor, 4/3; here it costs the forward pass again, the same
/// where a backward pass takes two forward passes.
double two_bw_seconds(const std::vector<TwoBwStage>& stages, const TwoBwShape& shape);

/// Bytes on each device of a stage of a pipeline `depth` deep: two versions of the weights, activations of
/// `depth` micro-batches, or of one where the others keep only what enters (ibid.).
double two_bw_bytes(const TwoBwStage& stage, const TwoBwShape& shape, int depth);

/// The cuts of a row of work into `parts` runs, none empty, whose heaviest is as light as can be: ends of the
/// runs. At most as many parts as there are works.
std::vector<std::size_t> balanced_ends(const std::vector<double>& work, int parts);

/// The dropped planner's formulas, see below, for the slowest stage; arguments are counts of numbers, not
/// bytes. Seconds per micro-batch of all `width` replicas together.
double dropped_two_bw_seconds(double compute, double parameters, double output, int width);
/// Bytes per worker of a pipeline `depth` deep.
double dropped_two_bw_bytes(double parameters, double activations, int depth);

/// A model of equal blocks, as the planner of the public code's first version took it. It counts elements as
/// bytes in times, and four bytes each in memory.
struct TwoBwBlocks {
  int blocks = 1;
  int workers = 1;
  double memory = 0;       ///< B per worker
  double seconds = 0;      ///< of a block
  double parameters = 0;   ///< of a block
  double activations = 0;  ///< elements of a block
  double output = 0;       ///< elements
};
struct TwoBwAnswer {
  double seconds = 0;  ///< per micro-batch of the whole
  int width = 0;
  int depth = 0;
  double memory = 0;  ///< B per worker
};
/// That planner: over all w d = workers, with n = blocks / d blocks per stage,
/// max(t n, 2 o / 1e9, 2 (w - 1) p n / (w <= 8 ? 1e11 : 1e9)) / w seconds and 4 (2 p n + a n d) bytes; the
/// least seconds that fit. With fewer blocks than stages n is 0 in times, so that compute is free, and 1 in
/// memory: its slip, kept to compare with its answers. Nothing when none fits.
std::optional<TwoBwAnswer> dropped_two_bw_planner(const TwoBwBlocks& model);

}  // namespace penstock::planners
