#pragma once
// The workspace of every stage the search may form (cost::backward_workspace), looked up where it can be.

#include <memory>
#include <vector>

#include "penstock/cost/backward_sweep.hpp"
#include "penstock/cost/problem.hpp"
#include "stage_set.hpp"

namespace penstock::planners {

/// Where positions are in the order of the operators, one sweep down from an end serves all ranges with that
/// end: what follows of a stage does not hang on where it begins, unless a tensor enters it that is read
/// behind it too. Other sets are swept when they are first asked for, and remembered. May be asked from
/// several threads.
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
  void sweep_from(int end);

  const graph::OpGraph& graph_;
  std::vector<std::vector<core::OpId>> operators_at_;  ///< [position]
  bool in_order_;
  std::vector<cost::BackwardStep> steps_;   ///< [operator]
  std::vector<std::vector<Range>> passed_;  ///< [end] begins of ranges that a tensor enters and passes by
  std::vector<std::vector<Reach>> reach_;   ///< [end] by falling begin, where it grows
  std::unique_ptr<Remembered> remembered_;
};

}  // namespace penstock::planners
