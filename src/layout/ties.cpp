#include "penstock/layout/ties.hpp"

#include <fmt/format.h>

#include <map>

namespace penstock::layout {
namespace {

using core::OpId;

/// First use of an owner's parameters on a rank.
struct OwnerUse {
  OpId user;
  ParameterShard has;
};

}  // namespace

ParameterShard holding(const graph::Operator& op, plan::Partition how) {
  const PlacementRule rules = rule(op, how);
  if (rules.weights) return {rules.weights};
  return {std::nullopt, rules.reads};
}

std::vector<std::string> tie_violations(const graph::OpGraph& graph, const plan::Plan& plan) {
  std::vector<std::string> out;
  const auto rank_of_stage = plan::rank_of_stage(plan);
  std::map<std::pair<std::int32_t, OpId>, OwnerUse> first;  // by rank and owner
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const plan::Stage& stage = plan.stages[s];
    const StageLayout layout = infer(graph, stage);
    for (std::size_t i = 0; i < stage.operators.size(); ++i) {
      const OpId id = stage.operators[i], owner = graph.owner(id);
      if (!graph::weighs(graph.op(owner))) continue;
      const OwnerUse use{id, holding(graph.op(id), layout.partition[i])};
      const auto [known, fresh] = first.try_emplace({rank_of_stage[s], owner}, use);
      if (fresh || known->second.has == use.has) continue;
      out.push_back(fmt::format("stage {}: operators '{}' and '{}' share parameters, and {}", s,
                                graph.op(known->second.user).name, graph.op(id).name,
                                known->second.has.axis != use.has.axis
                                    ? "want different shards of them"
                                    : "have gradients of different samples or tokens"));
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
