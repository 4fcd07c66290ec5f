#pragma once
// Private to the room: a pipeline whose layers may be cut anywhere, the least that a pipeline of whole layers takes.

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::score {

/// A way to run all layers of the model: with everything saved, or with some of it computed again.
struct LayerOption {
  double seconds;  ///< one micro-batch, both passes, with what is computed again
  double kept;     ///< bytes that one micro-batch keeps on all ranks together until its backward pass
};

/// Ranks in a row that share equal layers, any fraction each, in any mixture of options.
struct FluidPipeline {
  std::vector<LayerOption> options;
  double state = 0;   ///< bytes of weights, gradients and optimizer state of all layers
  double memory = 0;  ///< bytes of one rank
  double before = 0;  ///< bytes of what comes before the layers, on the first rank
  double behind = 0;  ///< bytes of what comes behind them, on the last rank
  std::int64_t micro_batches = 1;
  std::int64_t ranks = 1;
};

/// Time that a rank waits before its first pass and after its last one.
struct PipelineFill {
  bool whole_ranks = true;  ///< one stage per rank: all work of one micro-batch on the ranks before it
  double per_rank = 0;      ///< else these seconds for each rank before it but the first, which may have only
                            ///< the embedding there
};

/// Seconds that m micro-batches take at least where all work of one takes `work` and memory is no limit.
/// One stage per rank: rank r works m w_r, after the first micro-batch has passed the ranks before it and
/// before the last one returns through them. So T >= m w_r + w_0 + ... + w_(r-1), and the shares with equality
/// everywhere are the best: w_r = w_0 (1 - 1/m)^r, T = work / (1 - (1 - 1/m)^ranks).
double least_unlimited(double work, std::int64_t micro_batches, std::int64_t ranks, const PipelineFill& fill);

/// Least time with a limit on memory: rank r holds at least min(m, ranks - r) micro-batches, as 1F1B does and interleaved
/// schedules at least do. Nothing where the layers do not fit at any time. The result is never above the true
/// minimum, and below it by one part in 10^9 plus what the bound on later ranks' gains leaves.
std::optional<double> least_limited(const FluidPipeline& pipeline, const PipelineFill& fill);

/// Bytes that each rank needs at least, with the option that keeps the least.
double least_memory(const FluidPipeline& pipeline);

}  // namespace penstock::score
