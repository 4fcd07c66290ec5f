#pragma once
// The workspace of every stage the search may form (cost::backward_workspace), looked up where it can be.

#include <memory>
#include <vector>

#include "graphpipe/stage_set.hpp"
#include "penstock/cost/backward_sweep.hpp"
#include "penstock/cost/problem.hpp"

namespace penstock::planners {

/// Where positions are in the order of the operators, one sweep down from an end serves all ranges with that
/// end: what is held does not hang on where a stage begins, unless a tensor enters it that is read behind it
/// too. Other sets are swept one by one. All is done when it is first asked for, and remembered. May be asked
/// from several threads.
class WorkspaceTable {
 public:
  /// `operators_at[position]`, ascending.
  WorkspaceTable(const cost::Problem& problem, const std::vector<std::vector<core::OpId>>& operators_at);
  ~WorkspaceTable();

  cost::Envelope of(const StageSet& set) const;

 private:
  /// What a sweep that has come down to a position has held at most.
  struct Reach {
    int begin;
    cost::Envelope most;
  };
  struct Remembered;

  cost::Envelope swept(const StageSet& set) const;
  std::vector<cost::BackwardStep> steps(const StageSet& set) const;
  void note_passes();
  const std::vector<Reach>& reach(int end) const;

  const graph::OpGraph& graph_;
  bool in_order_;
  std::vector<cost::BackwardStep> steps_;   ///< in the order of positions
  std::vector<std::size_t> first_;          ///< [position] into steps_, and its end
  std::vector<std::vector<Range>> passed_;  ///< [end] begins of ranges that a tensor enters and passes by
  std::unique_ptr<Remembered> remembered_;
};

}  // namespace penstock::planners
