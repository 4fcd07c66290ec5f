#include "tasks/cut_passes.hpp"

namespace penstock::sim {
namespace {

using core::Seconds;
using core::StageId;
using cost::PassPieces;
using cost::ReplicaTimes;
using schedule::ActionKind;

PassPieces::Pass cut_as(ActionKind kind) {
  using Pass = PassPieces::Pass;
  if (kind == ActionKind::forward) return Pass::forward;
  if (kind == ActionKind::recompute) return Pass::recompute;
  if (kind == ActionKind::backward) return Pass::backward;
  return kind == ActionKind::input_gradient ? Pass::input_gradient : Pass::weight_gradient;
}

}  // namespace

Seconds time_of(ActionKind kind, const cost::OpTime& time) {
  if (kind == ActionKind::forward) return time.forward;
  if (kind == ActionKind::recompute) return time.recompute;
  if (kind == ActionKind::backward) return time.backward();
  return kind == ActionKind::input_gradient ? time.input_gradient : time.weight_gradient;
}

CutPasses::CutPasses(const cost::Problem& problem, const plan::Plan& plan,
                     const std::vector<std::vector<cost::GradientBucket>>& buckets)
    : problem_(problem), plan_(plan), buckets_(buckets), pieces_(plan.stages.size()) {
  for (std::size_t s = 0; s < pieces_.size(); ++s)
    if (PassPieces::may_wait(plan.stages[s])) pieces_[s].emplace(problem, plan.stages[s]);
}

std::vector<core::OpId> CutPasses::operators(StageId stage, std::int32_t bucket) const {
  return bucket < 0 ? plan_.stages[stage.index()].operators
                    : buckets_[stage.index()][static_cast<std::size_t>(bucket)].operators;
}

CutPasses::StageCut& CutPasses::cut(const Key& key) {
  const auto [found, fresh] = cuts_.try_emplace(key);
  if (!fresh) return found->second;
  const auto& [stage, kind, bucket] = key;
  const auto all = operators(stage, bucket);
  const auto& of_stage = pieces_[stage.index()];
  if (of_stage)
    found->second.pieces = of_stage->of(cut_as(kind), all);
  else
    found->second.pieces.emplace_back().operators = all;
  return found->second;
}

std::size_t CutPasses::count(StageId stage, ActionKind kind, std::int32_t bucket) {
  return cut({stage, kind, bucket}).pieces.size();
}

Seconds CutPasses::time(const program::Instruction& piece, std::size_t replica, std::int64_t samples) {
  const Key key{piece.stage, piece.kind, piece.bucket};
  StageCut& of = cut(key);
  if (!of.alone) {
    cost::OperatorSets sets;
    for (const cost::PassPiece& each : of.pieces) sets.push_back(each.operators);
    of.alone.emplace(problem_, plan_.stages[piece.stage.index()], std::move(sets),
                     ReplicaTimes::CountedWaits::ring);
  }
  const auto [known, fresh] = of.times.try_emplace({replica, samples});
  if (fresh)
    for (const cost::StageTime& alone : of.alone->times(replica, samples))
      known->second.push_back(time_of(piece.kind, alone.total()));
  return known->second[static_cast<std::size_t>(piece.piece)];
}

}  // namespace penstock::sim
