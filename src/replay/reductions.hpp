#pragma once
// Which sums of gradients there are in a program, and which update waits for which.

#include <vector>

#include "penstock/plan/plan.hpp"
#include "penstock/replay/program.hpp"

namespace penstock::replay {

/// One sum over all replicas of a stage; with tensor parallelism, over the devices of one number within their
/// groups.
struct Reduction {
  core::StageId stage;
  std::vector<core::DeviceId> devices;  ///< [replica]
  std::vector<std::size_t> position;    ///< [replica] where it stands in the device's instructions
  core::Bytes bytes;                    ///< of the gradients of each
};

/// The k-th REDUCE_GRAD of a stage on each of its replicas is one reduction, which its k-th STEP waits for.
/// None where there is one replica: what a group sums among itself is the workers' own.
struct Reductions {
  Reductions(const Program& program, const graph::OpGraph& graph, const plan::Plan& plan);

  std::vector<Reduction> list;
  /// [device][position] index into `list`: what a REDUCE_GRAD takes part in, what a STEP waits for; else -1.
  std::vector<std::vector<std::int32_t>> at;

 private:
  void add(const Program& program, core::StageId stage, const std::vector<core::DeviceId>& devices,
           core::Bytes bytes);
};

}  // namespace penstock::replay
