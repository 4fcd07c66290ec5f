#pragma once
// Whether a stage of PipeDream's 1F1B-RR fits on its devices, weight stashing included.

#include "pipedream_cuts.hpp"

namespace penstock::planners {

/// Memory of stages between cuts, as score::stage_memory counts it: a replica holds one micro-batch per
/// device from its stage on, shared by the stage's replicas, and as many weight versions as these spread
/// over.
class StashMemory {
 public:
  StashMemory(const cost::Problem& problem, const ProblemCuts& cuts, std::int64_t samples);

  /// On each device of a stage of `replicas`, with `behind` devices in the stages after it.
  core::Bytes need(std::size_t first, std::size_t last, std::int64_t replicas, std::int64_t behind) const;
  /// Whether that is at most `bytes`. Looks at the operators only where sums over the cuts do not tell.
  bool fits(std::size_t first, std::size_t last, std::int64_t replicas, std::int64_t behind,
            core::Bytes bytes) const;

 private:
  core::Bytes total(const cost::StageLoad& load, std::int64_t replicas, std::int64_t behind) const;
  cost::StageLoad sums(std::size_t first, std::size_t last) const;

  const cost::Problem& problem_;
  const ProblemCuts& cuts_;
  std::int64_t samples_;
  std::vector<cost::StageLoad> up_to_;  ///< [cut]: of all operators done, `leaving` what crosses it
};

}  // namespace penstock::planners
