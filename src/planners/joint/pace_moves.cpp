#include "joint/move.hpp"

namespace penstock::planners {
namespace {

using plan::Stage;

/// Applies a change to all stages.
template <class Change>
Move on_all(Change change) {
  return [change](PlanDraft& draft) {
    for (Stage& stage : draft.plan.stages) change(stage);
  };
}

template <class Change>
Move on_one(std::size_t s, Change change) {
  return [s, change](PlanDraft& draft) { change(draft.plan.stages[s]); };
}

/// Multiplies the size by a ratio; 0, which makes no valid plan, if the result is not a whole number.
void scale(Stage& stage, std::int64_t up, std::int64_t down) {
  const std::int64_t size = stage.micro_batch * up;
  stage.micro_batch = size % down == 0 ? size / down : 0;
}

struct PaceRatio {
  std::int64_t up, down;
};
/// Ratios of sizes, which need not be powers of two if mini-batch and replicas are not.
constexpr PaceRatio kRatios[] = {{2, 1}, {1, 2}, {3, 1}, {1, 3}, {4, 1}, {1, 4}};

void resize(const MoveContext& sight, Moves& out) {
  const bool each = by_count(sight.draft.plan) || sight.draft.plan.schedule == "gpipe";
  for (const PaceRatio& ratio : kRatios) {
    const auto change = [ratio](Stage& stage) { scale(stage, ratio.up, ratio.down); };
    out.push_back(on_all(change));
    for (std::size_t s = 0; each && s < sight.draft.plan.stages.size(); ++s) out.push_back(on_one(s, change));
  }
}

void set_runs(const MoveContext& sight, Moves& out) {
  if (!by_count(sight.draft.plan)) return;
  for (const int k : {1, 2, 3, 4, 8}) {
    const auto change = [k](Stage& stage) { stage.k = k; };
    out.push_back(on_all(change));
    for (std::size_t s = 0; s < sight.draft.plan.stages.size(); ++s) out.push_back(on_one(s, change));
  }
}

void toggle_row(PlanDraft& draft) {
  auto& stages = draft.plan.stages;
  const bool row = in_row(draft.plan);
  for (Stage& stage : stages) stage.after.clear();
  if (!row && stages.size() > 1) stages.back().after = {core::StageId(stages.size() - 2)};
}

void toggle_rule(PlanDraft& draft) {
  using schedule::InFlight;
  draft.rule = draft.rule == InFlight::depth ? InFlight::hide_transfers : InFlight::depth;
}

}  // namespace

Moves pace_moves(const MoveContext& sight) {
  Moves out;
  const SearchOptions& options = sight.space.options();
  if (!options.micro_batch && !options.pipeline_micro_batch) resize(sight, out);
  if (options.k == 1) set_runs(sight, out);
  if (sight.draft.plan.stages.size() > 1) {
    out.push_back(toggle_row);
    if (by_count(sight.draft.plan)) out.push_back(toggle_rule);
  }
  return out;
}

}  // namespace penstock::planners
