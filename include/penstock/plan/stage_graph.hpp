#pragma once
// Data dependencies between the stages of a plan.

#include <algorithm>
#include <vector>

#include "penstock/core/units.hpp"
#include "penstock/graph/op_graph.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::plan {

/// Stage `to` waits for stage `from` and receives `bytes` per sample from it. Distinct tensors count once;
/// zero for an order imposed only by Stage::after. The backward pass sends as much in the other direction.
struct StageBoundary {
  core::StageId from;
  core::StageId to;
  core::Bytes bytes;
};

/// Derived from a plan whose operators each belong to exactly one stage, or to all parts of a colocated one.
/// Stages must be listed producers first (checked by `structural_violations`). Every part has the boundaries
/// of its stage; the samples that go from part to part are not stored here.
class StageGraph {
 public:
  StageGraph(const graph::OpGraph& graph, const Plan& plan);

  std::size_t size() const { return outgoing_.size(); }
  const std::vector<StageBoundary>& boundaries() const { return boundaries_; }  ///< sorted by (from, to)
  /// Indices into boundaries().
  const std::vector<std::size_t>& outgoing(core::StageId id) const { return outgoing_[id.index()]; }
  const std::vector<std::size_t>& incoming(core::StageId id) const { return incoming_[id.index()]; }
  /// Stages of an operator, ascending: one stage, or the parts of a colocated one.
  const std::vector<core::StageId>& stages_of(core::OpId op) const { return stages_of_[op.index()]; }
  bool runs(core::StageId stage, core::OpId op) const {
    const auto& all = stages_of(op);
    return std::find(all.begin(), all.end(), stage) != all.end();
  }
  /// Stages on the longest path, counted in stages (the paper's pipeline depth).
  int depth() const;

 private:
  std::vector<std::vector<core::StageId>> stages_of_;
  std::vector<StageBoundary> boundaries_;
  std::vector<std::vector<std::size_t>> outgoing_;
  std::vector<std::vector<std::size_t>> incoming_;
};

}  // namespace penstock::plan
