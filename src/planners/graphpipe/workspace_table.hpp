#pragma once
// Workspace of every stage that the search may form (cost::backward_workspace), cached if possible.

#include <memory>
#include <vector>

#include "graphpipe/stage_set.hpp"
#include "penstock/cost/backward_sweep.hpp"
#include "penstock/cost/problem.hpp"

namespace penstock::planners {

/// If positions are in the order of the operators, one sweep down from an end serves all ranges with that
/// end. The memory held does not depend on where a stage begins, unless a tensor enters it that is also read
/// behind it. Other sets are swept separately. Computed on first use and cached. Thread-safe.
class WorkspaceTable {
 public:
  /// `operators_at[position]`, ascending.
  WorkspaceTable(const cost::Problem& problem, const std::vector<std::vector<core::OpId>>& operators_at);
  ~WorkspaceTable();

  cost::MemoryEnvelope of(const StageSet& set) const;

 private:
  /// Maximum held by a sweep that has come down to a position.
  struct SweepPeak {
    int begin;
    cost::MemoryEnvelope most;
  };
  struct Remembered;

  cost::MemoryEnvelope swept(const StageSet& set) const;
  std::vector<cost::BackwardStep> steps(const StageSet& set) const;
  void note_passes();
  const std::vector<SweepPeak>& reach(int end) const;

  const graph::OpGraph& graph_;
  bool in_order_;
  std::vector<cost::BackwardStep> steps_;  ///< in the order of positions
  std::vector<std::size_t> first_;         ///< [position] index into steps_, and its end
  std::vector<std::vector<PositionRange>>
      passed_;  ///< [end] begins of ranges that a tensor enters and passes by
  std::unique_ptr<Remembered> remembered_;
};

}  // namespace penstock::planners
