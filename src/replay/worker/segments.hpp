#pragma once
// Segments of a stage: operators that are recomputed together, and tensors that last until then.

#include <optional>
#include <set>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::replay {

class StageSegments {
 public:
  StageSegments(const graph::OpGraph& graph, const plan::Stage& stage);

  std::size_t count() const { return members_.size(); }
  const std::vector<core::OpId>& members(std::size_t segment) const { return members_[segment]; }
  /// Segment with which an operator of the stage is recomputed.
  std::optional<std::size_t> of(core::OpId op) const;
  /// True if a tensor of the stage stays from its forward pass until the end of its backward pass. Then it is
  /// not recomputed, or an operator outside its segment reads it.
  bool lasts(core::OpId op) const { return lasting_.contains(op); }

 private:
  std::vector<std::vector<core::OpId>> members_;
  std::vector<std::size_t> segment_;  ///< [operator of the graph] 1 + its segment, or 0
  std::set<core::OpId> lasting_;
};

}  // namespace penstock::replay
