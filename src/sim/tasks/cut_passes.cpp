#include "tasks/cut_passes.hpp"

namespace penstock::sim {
namespace {

using core::Seconds;
using core::StageId;
using cost::PassPieces;
using cost::ReplicaTimes;
using schedule::ActionKind;

/// Of what waits for a tensor-parallel group.
std::optional<PassPieces::Pass> cut_as(ActionKind kind) {
  if (kind == ActionKind::forward) return PassPieces::Pass::forward;
  if (kind == ActionKind::recompute) return PassPieces::Pass::recompute;
  if (kind == ActionKind::backward || kind == ActionKind::input_gradient) return PassPieces::Pass::backward;
  return {};
}

}  // namespace

Seconds time_of(ActionKind kind, const cost::OpTime& time) {
  if (kind == ActionKind::forward) return time.forward;
  if (kind == ActionKind::recompute) return time.recompute;
  if (kind == ActionKind::backward) return time.backward();
  return kind == ActionKind::input_gradient ? time.input_gradient : time.weight_gradient;
}

CutPasses::CutPasses(const cost::Problem& problem, const plan::Plan& plan,
                     const std::vector<std::vector<cost::Bucket>>& buckets)
    : problem_(problem), plan_(plan), buckets_(buckets), pieces_(plan.stages.size()) {
  for (std::size_t s = 0; s < pieces_.size(); ++s)
    if (plan.stages[s].tensor_parallel > 1) pieces_[s].emplace(problem, plan.stages[s]);
}

std::vector<core::OpId> CutPasses::operators(StageId stage, std::int32_t bucket) const {
  return bucket < 0 ? plan_.stages[stage.index()].operators
                    : buckets_[stage.index()][static_cast<std::size_t>(bucket)].operators;
}

CutPasses::Cut& CutPasses::cut(const Key& key) {
  const auto [found, fresh] = cuts_.try_emplace(key);
  if (!fresh) return found->second;
  const auto& [stage, kind, bucket] = key;
  const auto pass = cut_as(kind);
  const auto all = operators(stage, bucket);
  found->second.pieces = pass && pieces_[stage.index()] ? pieces_[stage.index()]->of(*pass, all)
                                                        : std::vector<cost::PassPiece>{{all, {}}};
  return found->second;
}

std::size_t CutPasses::count(StageId stage, ActionKind kind, std::int32_t bucket) {
  return cut({stage, kind, bucket}).pieces.size();
}

const layout::GroupCollective* CutPasses::behind(const program::Instruction& piece) {
  const Cut& of = cut({piece.stage, piece.kind, piece.bucket});
  const auto& then = of.pieces[static_cast<std::size_t>(piece.piece)].then;
  return then ? &*then : nullptr;
}

std::vector<Seconds> CutPasses::times(Cut& cut, ActionKind kind, std::size_t replica, std::int64_t samples) {
  std::vector<Seconds> out;
  const auto alone = cut.alone->times(replica, samples);
  for (const cost::StageTime& piece : alone) out.push_back(time_of(kind, piece.total()));
  const Seconds all = out.back(), with_zero = time_of(kind, cut.whole->time(replica, samples).total());
  out.pop_back();
  out.back() += std::max(Seconds(0), with_zero - all);
  return out;
}

Seconds CutPasses::time(const program::Instruction& piece, std::size_t replica, std::int64_t samples) {
  const Key key{piece.stage, piece.kind, piece.bucket};
  Cut& of = cut(key);
  if (!of.alone) {
    const plan::Stage& stage = plan_.stages[piece.stage.index()];
    const auto all = operators(piece.stage, piece.bucket);
    cost::OperatorSets sets;
    for (const cost::PassPiece& each : of.pieces) sets.push_back(each.operators);
    sets.push_back(all);
    of.alone.emplace(problem_, stage, std::move(sets), ReplicaTimes::Waits::context);
    of.whole.emplace(problem_, stage, cost::OperatorSets{all}, ReplicaTimes::Waits::replicas);
  }
  const auto [known, fresh] = of.times.try_emplace({replica, samples});
  if (fresh) known->second = times(of, piece.kind, replica, samples);
  return known->second[static_cast<std::size_t>(piece.piece)];
}

}  // namespace penstock::sim
