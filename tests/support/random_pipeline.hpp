#pragma once
// Pipelines by seed, and the best order of a tiny one.

#include <functional>

#include "penstock/core/random.hpp"
#include "penstock/schedule/pipeline.hpp"

namespace penstock::support {

struct PipelineShape {
  int most_stages = 8, most_micro_batches = 40;
  bool chain = true;     ///< else a DAG: each stage is fed by one to three of the earlier ones, or none
  bool limited = false;  ///< every stage has room for 1 to 2S micro-batches
  double backward = 0;   ///< backward over forward of every stage; 0: drawn
};

/// Times are small whole numbers: forward 1 to 20, links 0 to 15 with latency in a third of the cases,
/// all-reduces 0 to 30. Links serve one or both directions at a time, by the draw.
schedule::Pipeline random_pipeline(core::Random& random, const PipelineShape& shape);

/// The least makespan of all orders. Only those in micro-batch order count. Micro-batches are equal, so
/// giving the i-th forward and the i-th backward on each machine to micro-batch i breaks no wait. It breaks
/// no room either (the i-th task anywhere begins once i of those before it are done, whichever they are).
core::Picoseconds least_makespan(const schedule::Pipeline& pipeline);

}  // namespace penstock::support
