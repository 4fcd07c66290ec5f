#include <algorithm>
#include <map>
#include <optional>

#include "joint/move.hpp"
#include "penstock/layout/ties.hpp"

namespace penstock::planners {
namespace {

using core::OpId;
using plan::Partition;

/// none: by the rule of layout/infer.hpp
constexpr std::optional<Partition> kDivisions[] = {std::nullopt,      Partition::whole, Partition::batch,
                                                   Partition::column, Partition::row,   Partition::sequence};

void divide(plan::Stage& stage, OpId op, const std::optional<Partition>& how) {
  stage.partition.erase(op);
  if (how) stage.partition.emplace(op, *how);
}

/// A stage's operators of one kind.
struct EqualOperators {
  std::size_t stage;
  std::vector<OpId> operators;
};

/// [kind] operators by stage, for stages that divide operators.
std::map<graph::OpKind, std::vector<EqualOperators>> by_kind(const MoveContext& sight) {
  std::map<graph::OpKind, std::vector<EqualOperators>> out;
  const auto& stages = sight.draft.plan.stages;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].tensor_parallel == 1) continue;
    for (const OpId op : stages[s].operators) {
      const graph::OpKind kind = sight.space.problem().graph.op(op).kind;
      if (kind == graph::OpKind::input) continue;
      auto& found = out[kind];
      if (found.empty() || found.back().stage != s) found.push_back({s, {}});
      found.back().operators.push_back(op);
    }
  }
  return out;
}

Move division(const std::vector<EqualOperators>& which, const std::optional<Partition>& how) {
  return [which, how](PlanDraft& draft) {
    for (const EqualOperators& alike : which)
      for (const OpId op : alike.operators) divide(draft.plan.stages[alike.stage], op, how);
  };
}

struct StageOperator {
  std::size_t stage;
  OpId op;
};

/// Operators that share parameters on the devices of a rank, if these divide operators.
std::vector<std::vector<StageOperator>> sharers(const MoveContext& sight) {
  std::map<std::pair<std::size_t, OpId>, std::vector<StageOperator>> of;  // {rank, owner}
  const graph::OpGraph& graph = sight.space.problem().graph;
  for (std::size_t r = 0; r < sight.ranks.size(); ++r)
    for (const std::size_t s : sight.ranks[r]) {
      const plan::Stage& stage = sight.draft.plan.stages[s];
      if (stage.tensor_parallel == 1) continue;
      for (const OpId op : stage.operators) of[{r, graph.owner(op)}].push_back({s, op});
    }
  std::vector<std::vector<StageOperator>> out;
  for (auto& [rank, users] : of)
    if (users.size() > 1) out.push_back(std::move(users));
  return out;
}

/// Partition with which an operator holds its parameters in this way.
std::optional<Partition> held_as(const graph::Operator& op, const layout::ParameterShard& holding) {
  for (const auto& how : kDivisions)
    if (how && layout::holding(op, *how) == holding) return how;
  return std::nullopt;
}

/// Changes all sharers at once, because they must hold the same shards.
void divide_sharers(const MoveContext& sight, Moves& out) {
  const graph::OpGraph& graph = sight.space.problem().graph;
  for (const auto& users : sharers(sight))
    for (const auto& how : kDivisions) {
      if (!how) continue;
      const layout::ParameterShard holding = layout::holding(graph.op(users.front().op), *how);
      std::vector<std::optional<Partition>> hows;
      for (const StageOperator& user : users) hows.push_back(held_as(graph.op(user.op), holding));
      if (!std::ranges::all_of(hows, [](const auto& known) { return known.has_value(); })) continue;
      out.push_back([users, hows](PlanDraft& draft) {
        for (std::size_t u = 0; u < users.size(); ++u)
          divide(draft.plan.stages[users[u].stage], users[u].op, hows[u]);
      });
    }
}

}  // namespace

Moves partition_moves(const MoveContext& sight) {
  Moves out;
  divide_sharers(sight, out);
  for (const auto& [kind, stages] : by_kind(sight))
    for (const auto& how : kDivisions) {
      out.push_back(division(stages, how));
      for (const EqualOperators& alike : stages) {
        if (stages.size() > 1) out.push_back(division({alike}, how));
        if (alike.operators.size() == 1) continue;
        for (const OpId op : alike.operators) out.push_back(division({{alike.stage, {op}}}, how));
      }
    }
  return out;
}

}  // namespace penstock::planners
