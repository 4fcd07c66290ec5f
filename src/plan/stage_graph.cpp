#include "penstock/plan/stage_graph.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "penstock/core/error.hpp"

namespace penstock::plan {

using core::OpId;
using core::StageId;

StageGraph::StageGraph(const graph::OpGraph& graph, const Plan& plan)
    : stages_of_(graph.size()), outgoing_(plan.stages.size()), incoming_(plan.stages.size()) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (OpId op : plan.stages[s].operators) stages_of_[op.index()].emplace_back(s);

  std::map<std::pair<StageId, StageId>, core::Bytes> bytes;
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const auto& makers = stages_of_[v];
    std::set<StageId> readers;  // a tensor travels once to each stage that reads it
    for (graph::Vertex to : graph.dag().successors(static_cast<graph::Vertex>(v)))
      for (StageId reader : stages_of_[static_cast<std::size_t>(to)]) readers.insert(reader);
    for (StageId maker : makers) readers.erase(maker);
    for (StageId maker : makers)
      for (StageId reader : readers) bytes[{maker, reader}] += graph.op(OpId(v)).output_bytes;
  }
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (StageId before : plan.stages[s].after) bytes[{before, StageId(s)}] += core::Bytes(0);

  for (const auto& [ends, size] : bytes) {
    core::require(ends.first < ends.second, "stages are listed producers first");
    outgoing_[ends.first.index()].push_back(boundaries_.size());
    incoming_[ends.second.index()].push_back(boundaries_.size());
    boundaries_.push_back({ends.first, ends.second, size});
  }
}

int StageGraph::depth() const {
  std::vector<int> level(size(), 1);
  for (const StageBoundary& b : boundaries_)  // sorted by source, and sources precede their targets
    level[b.to.index()] = std::max(level[b.to.index()], level[b.from.index()] + 1);
  return level.empty() ? 0 : *std::max_element(level.begin(), level.end());
}

}  // namespace penstock::plan
