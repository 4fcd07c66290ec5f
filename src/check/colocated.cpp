// Operators that several stages run: the parts of a colocated one.

#include <algorithm>

#include "evidence.hpp"

namespace penstock::check {
namespace {

/// The stages together compute every sample once.
void check_samples(TraceEvidence& evidence, const std::vector<StageId>& stages) {
  std::vector<ReplicaShare> all;
  for (const StageId stage : stages)
    for (const ReplicaShare& share : evidence.shares(stage)) all.push_back(share);
  std::ranges::sort(all, {}, [](const ReplicaShare& share) { return std::pair(share.begin, share.end); });
  std::int64_t next = 0;
  for (const ReplicaShare& share : all) {
    if (share.begin != next)
      return evidence.violation("stages {} to {} run the same operators, and {} sample {}",
                                stages.front().index(), stages.back().index(),
                                share.begin > next ? "none" : "two of them", std::min(share.begin, next));
    next = share.end;
  }
  if (next != evidence.plan.training.mini_batch * evidence.trace.mini_batches)
    evidence.violation("stages {} to {} run the same operators, and none sample {}", stages.front().index(),
                       stages.back().index(), next);
}

/// No copy of the weights is updated before the last device has its own gradients, in any form of the sum.
void check_updates(TraceEvidence& evidence, const std::vector<StageId>& stages) {
  Picoseconds computed;
  for (const auto& passes : evidence.ran)
    for (const PassRun& pass : passes)
      if (std::ranges::count(stages, pass.span->stage) > 0 && pass.span->kind != TaskKind::step)
        computed = std::max(computed, pass.span->end);
  for (const auto& passes : evidence.ran)
    for (const PassRun& pass : passes)
      if (std::ranges::count(stages, pass.span->stage) > 0 && pass.span->kind == TaskKind::step &&
          pass.span->start < computed)
        return evidence.violation("device {} updates stage {} before all that have its weights are done",
                                  pass.span->device.index(), pass.span->stage.index());
}

}  // namespace

void check_colocated(TraceEvidence& evidence) {
  std::map<core::OpId, std::vector<StageId>> stages_of;  // by first operator
  for (std::size_t s = 0; s < evidence.plan.stages.size(); ++s)
    stages_of[evidence.plan.stages[s].operators.front()].emplace_back(s);
  for (const auto& [op, stages] : stages_of) {
    if (stages.size() < 2) continue;
    check_samples(evidence, stages);
    check_updates(evidence, stages);
  }
}

}  // namespace penstock::check
