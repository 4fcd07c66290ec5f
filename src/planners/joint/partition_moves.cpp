#include <algorithm>
#include <map>
#include <optional>

#include "joint/move.hpp"

namespace penstock::planners {
namespace {

using core::OpId;
using plan::Partition;

/// Nothing: as the rule of layout/infer.hpp has it.
constexpr std::optional<Partition> kDivisions[] = {std::nullopt,      Partition::whole, Partition::batch,
                                                   Partition::column, Partition::row,   Partition::sequence};

void divide(plan::Stage& stage, OpId op, const std::optional<Partition>& how) {
  stage.partition.erase(op);
  if (how) stage.partition.emplace(op, *how);
}

/// A stage's operators of one kind.
struct Alike {
  std::size_t stage;
  std::vector<OpId> operators;
};

/// By kind, then stage, of those stages that divide operators.
std::map<graph::OpKind, std::vector<Alike>> by_kind(const Sight& sight) {
  std::map<graph::OpKind, std::vector<Alike>> out;
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

Move division(const std::vector<Alike>& which, const std::optional<Partition>& how) {
  return [which, how](Draft& draft) {
    for (const Alike& alike : which)
      for (const OpId op : alike.operators) divide(draft.plan.stages[alike.stage], op, how);
  };
}

}  // namespace

Moves partition_moves(const Sight& sight) {
  Moves out;
  for (const auto& [kind, stages] : by_kind(sight))
    for (const auto& how : kDivisions) {
      out.push_back(division(stages, how));
      for (const Alike& alike : stages) {
        if (stages.size() > 1) out.push_back(division({alike}, how));
        if (alike.operators.size() == 1) continue;
        for (const OpId op : alike.operators) out.push_back(division({{alike.stage, {op}}}, how));
      }
    }
  return out;
}

}  // namespace penstock::planners
