#pragma once
// Segments of a stage: which operators are computed again together, and whose tensors last until then.

#include <optional>
#include <set>
#include <vector>

#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::replay {

class Segments {
 public:
  Segments(const graph::OpGraph& graph, const plan::Stage& stage);

  std::size_t count() const { return members_.size(); }
  const std::vector<core::OpId>& members(std::size_t segment) const { return members_[segment]; }
  /// The segment an operator of the stage is computed again with.
  std::optional<std::size_t> of(core::OpId op) const;
  /// Whether a tensor of the stage stays from its forward pass until the end of its backward pass: nobody
  /// makes it again, or someone outside its segment reads it.
  bool lasts(core::OpId op) const { return lasting_.contains(op); }

 private:
  std::vector<std::vector<core::OpId>> members_;
  std::vector<std::size_t> segment_;  ///< [operator of the graph]: 1 + its segment, or 0
  std::set<core::OpId> lasting_;
};

}  // namespace penstock::replay
