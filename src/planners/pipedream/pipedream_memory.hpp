#pragma once
// Whether a stage of PipeDream's 1F1B-RR fits on its devices, weight stashing included.

#include "pipedream/pipedream_cuts.hpp"

namespace penstock::planners {

/// A stage between cuts, with so many replicas, and devices in the stages after it.
struct ReplicatedStage {
  std::size_t first = 0;
  std::size_t last = 0;
  std::int64_t replicas = 1;
  std::int64_t behind = 0;
};

/// Memory of stages between cuts, as score::stage_memory counts it: a replica holds one micro-batch per
/// device from its stage on, shared by the stage's replicas, and as many weight versions as these spread
/// over; replicas at least one, or gradients of the next mini-batch, while the sum of the last one's is on
/// its way (schedule::weight_copies).
class StashMemory {
 public:
  StashMemory(const cost::Problem& problem, const ProblemCuts& cuts, core::StopToken stop);

  /// Whether each device needs at most `bytes` for micro-batches of so many samples. Looks at the operators
  /// only where sums over the cuts do not tell.
  bool fits(const ReplicatedStage& stage, std::int64_t samples, core::Bytes bytes) const;

 private:
  core::Bytes total(const cost::StageLoad& load, const ReplicatedStage& stage, std::int64_t samples) const;
  cost::StageLoad sums(const ReplicatedStage& stage) const;

  const cost::Problem& problem_;
  const ProblemCuts& cuts_;
  std::vector<cost::StageLoad> up_to_;  ///< [cut]: of all operators done, `outputs` what crosses it
  bool ties_ = false;                   ///< some operators share parameters: the sums may lack a copy
};

}  // namespace penstock::planners
