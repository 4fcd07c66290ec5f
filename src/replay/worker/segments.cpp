#include "worker/segments.hpp"

namespace penstock::replay {

using core::OpId;
using graph::Vertex;

StageSegments::StageSegments(const graph::OpGraph& graph, const plan::Stage& stage)
    : members_(plan::segments(graph, stage.operators, stage.recompute)), segment_(graph.size()) {
  for (std::size_t s = 0; s < members_.size(); ++s)
    for (const OpId id : members_[s]) segment_[id.index()] = s + 1;
  for (const OpId id : stage.operators) {
    if (!of(id)) lasting_.insert(id);
    for (const Vertex v : graph.dag().predecessors(static_cast<Vertex>(id.index()))) {
      const OpId source(static_cast<std::size_t>(v));
      if (of(source) != of(id)) lasting_.insert(source);
    }
  }
}

std::optional<std::size_t> StageSegments::of(OpId op) const {
  const std::size_t number = segment_[op.index()];
  return number > 0 ? std::optional(number - 1) : std::nullopt;
}

}  // namespace penstock::replay
