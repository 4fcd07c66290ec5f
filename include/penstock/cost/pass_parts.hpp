#pragma once
// Parts of the time of a stage's passes.

#include <cstdint>
#include <span>
#include <vector>

#include "penstock/cost/sharding.hpp"

namespace penstock::cost {

/// Seconds of one micro-batch on one replica. The parts add up to StageTime::total(), apart from rounding.
struct PassParts {
  OpTime kernels;    ///< time by the costs
  OpTime sustained;  ///< added by DeviceType::kernel_slowdown
  OpTime host;       ///< added by launches and tasks of the host (cluster::FrameworkRuntime)
  OpTime tensor;     ///< collectives of tensor-parallel groups
  OpTime experts;    ///< collectives of expert groups
  OpTime context;    ///< collectives of context groups, and waits for hops of ring attention
  OpTime replicas;   ///< waits for weights and gradients that ZeRO 2 and 3 move
};

/// [replica] with `samples[replica]` of a micro-batch, as ReplicaTimes has the whole. For reports: searches
/// need no parts.
std::vector<PassParts> pass_parts(const Problem& problem, const plan::Stage& stage,
                                  std::span<const std::int64_t> samples);

}  // namespace penstock::cost
