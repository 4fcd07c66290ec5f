#pragma once
// Memory of a stage of PipeDream's 1F1B-RR, weight stashing included.

#include "pipedream/pipedream_cuts.hpp"

namespace penstock::planners {

/// A stage between cuts, with its replicas and the devices of the stages after it.
struct ReplicatedStage {
  std::size_t first = 0;
  std::size_t last = 0;
  std::int64_t replicas = 1;
  std::int64_t behind = 0;
};

/// Memory of stages between cuts, counted like score::stage_memory. A stage's replicas together hold one
/// micro-batch per device from their stage on, and each replica as many weight versions as these span. In
/// addition, replicas hold at least one weight-sized buffer, or gradients of the next mini-batch while the
/// last ones are reduced (schedule::weight_copies).
class StashMemory {
 public:
  StashMemory(const cost::Problem& problem, const ProblemCuts& cuts, core::StopToken stop);

  /// True if each device needs at most `bytes` for micro-batches of this many samples. Looks at operators
  /// only if sums over the cuts do not decide.
  bool fits(const ReplicatedStage& stage, std::int64_t samples, core::Bytes bytes) const;

 private:
  core::Bytes total(const cost::StageLoad& load, const ReplicatedStage& stage, std::int64_t samples) const;
  cost::StageLoad sums(const ReplicatedStage& stage) const;

  const cost::Problem& problem_;
  const ProblemCuts& cuts_;
  std::vector<cost::StageLoad> up_to_;  ///< [cut] load of all operators done; `outputs` crosses the cut
  bool ties_ = false;                   ///< some operators share parameters, so the sums may lack a copy
};

}  // namespace penstock::planners
