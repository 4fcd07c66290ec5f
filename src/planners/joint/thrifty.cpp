#include "joint/thrifty.hpp"

#include <algorithm>
#include <cmath>

#include "joint/row_shape.hpp"
#include "penstock/core/parallel.hpp"
#include "row_plan.hpp"
#include "tensor/tensor_groups.hpp"

namespace penstock::planners {
namespace {

/// Ranks of `size` devices each, in groups of `degree`.
std::vector<RankShape> thrifty_ranks(const PlanSpace& space, int size, int degree) {
  const auto& options = space.options();
  plan::Stage like;
  like.tensor_parallel = degree;
  like.zero = space.limits().zero;
  like.k = options.k;
  like.micro_batch = options.pipeline_micro_batch.value_or(options.micro_batch.value_or(1) * (size / degree));
  return even_ranks(space.problem().cluster, size, like);
}

void add_rows(const PlanSpace& space, const std::vector<RankShape>& ranks, std::vector<PlanDraft>& out) {
  for (const auto& again : {plan::kRecomputeStage, plan::kRecomputeLayers, plan::Recomputation{}})
    for (const bool tokens : {false, true}) {
      PlanDraft draft;
      draft.plan.training = space.problem().training;
      cut_row(space, ranks, 1, StageAssignment::loop, draft.plan);
      for (plan::Stage& stage : draft.plan.stages) {
        stage.recompute = again;
        stage.sequence_parallel = tokens;
      }
      if (!draft.plan.stages.empty() && space.tidy(draft)) out.push_back(std::move(draft));
    }
}

}  // namespace

std::vector<JudgedDraft> thrifty_plans(const PlanSpace& space, const JointJudge& judge,
                                       core::StopToken stop) {
  std::vector<PlanDraft> drafts;
  for (const int size : rank_sizes(space.problem(), space.options()))
    for (const int degree : tensor_degrees(space.problem().cluster, space.options()))
      if (size % degree == 0) add_rows(space, thrifty_ranks(space, size, degree), drafts);
  std::vector<std::optional<JudgedDraft>> judged(drafts.size());
  core::parallel_for(drafts.size(), [&](std::size_t i) {
    stop.check();
    if (auto draft = space.completed(drafts[i])) judged[i] = {*draft, judge.worth(draft->plan)};
  });
  std::vector<JudgedDraft> out;
  for (auto& plan : judged)
    if (plan && std::isfinite(plan->worth.least)) out.push_back(std::move(*plan));
  std::ranges::stable_sort(out, {}, &JudgedDraft::worth);
  return out;
}

}  // namespace penstock::planners
