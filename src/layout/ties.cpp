#include "penstock/layout/ties.hpp"

#include <fmt/format.h>

#include <map>

namespace penstock::layout {
namespace {

using core::OpId;

/// Who used an owner's parameters first, on a rank, and how.
struct Use {
  OpId user;
  std::optional<WeightAxis> axis;
};

}  // namespace

std::vector<std::string> tie_violations(const graph::OpGraph& graph, const plan::Plan& plan) {
  std::vector<std::string> out;
  const auto rank_of_stage = plan::rank_of_stage(plan);
  std::map<std::pair<std::int32_t, OpId>, Use> first;  // by rank and owner
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    const StageLayout layout = infer(graph, stage);
    for (std::size_t i = 0; i < stage.operators.size(); ++i) {
      const OpId id = stage.operators[i], owner = graph.owner(id);
      if (!graph::weighs(graph.op(id))) continue;
      const Use use{id, rule(graph.op(id), layout.partition[i]).weights};
      const auto [known, fresh] = first.try_emplace({rank_of_stage[s], owner}, use);
      if (!fresh && known->second.axis != use.axis)
        out.push_back(fmt::format(
            "stage {}: operators '{}' and '{}' share parameters, and want different shards of them", s,
            graph.op(known->second.user).name, graph.op(id).name));
    }
  }
  return out;
}

std::optional<WeightAxis> weight_axis(const graph::OpGraph& graph, const plan::Stage& stage, OpId owner) {
  const StageLayout layout = infer(graph, stage);
  for (std::size_t i = 0; i < stage.operators.size(); ++i)
    if (graph.owner(stage.operators[i]) == owner)
      return rule(graph.op(stage.operators[i]), layout.partition[i]).weights;
  return std::nullopt;
}

}  // namespace penstock::layout
