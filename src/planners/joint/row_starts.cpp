#include "joint/row_starts.hpp"

#include <algorithm>
#include <string_view>

#include "joint/row_shape.hpp"
#include "local/first_least.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/graph/work.hpp"
#include "row_plan.hpp"
#include "sweep.hpp"
#include "tensor/tensor_groups.hpp"

namespace penstock::planners {
namespace {

/// Schedules for which no other planner cuts stages, with the minimum number of stages per rank.
constexpr std::string_view kSchedules[] = {"zbv", "v_half", "v_zb", "hanayo", "zb_2p", "interleaved_zb"};

/// Maximum micro-batches per rank: more hardly improve a pipeline. With less than one per rank it is never
/// full.
constexpr std::int64_t kMostEach = 32;

class RowStarts {
 public:
  RowStarts(const PlanSpace& space, const JointJudge& judge, const PlanScore& to_beat, core::StopToken stop)
      : space_(space),
        judge_(judge),
        to_beat_(to_beat),
        stop_(stop),
        tokens_(graph::tokens(space.problem().graph).has_value()) {}

  /// Best row of a family; nothing if none fits.
  std::optional<JudgedDraft> best(const FamilyShape& family) const {
    const std::vector<PlanDraft> rows = even_rows(family);
    std::vector<std::optional<PlanDraft>> fitting(rows.size());
    std::vector<std::optional<PlanScore>> bounds(rows.size());
    core::parallel_for(rows.size(), [&](std::size_t i) {
      fitting[i] = thriftily_completed(rows[i]);
      if (fitting[i]) bounds[i] = judge_.at_best(fitting[i]->plan);
    });
    const auto found = first_least(bounds, to_beat_, [&](std::size_t i, const PlanScore& least, bool ties) {
      stop_.check();
      return judge_.worth(fitting[i]->plan, ties ? judge_.just_above(least) : least);
    });
    if (!found.index) return std::nullopt;
    return JudgedDraft{std::move(*fitting[*found.index]), found.value};
  }

 private:
  std::vector<PlanDraft> even_rows(const FamilyShape& family) const {
    std::vector<PlanDraft> out;
    for (const int size : rank_sizes(space_.problem(), space_.options()))
      for (const int degree : tensor_degrees(space_.problem().cluster, space_.options()))
        if (size % degree == 0) add_rows(family, size, degree, out);
    return out;
  }

  /// Adds rows with `size` devices per rank, in groups of `degree`.
  void add_rows(const FamilyShape& family, int size, int degree, std::vector<PlanDraft>& out) const {
    const cost::Problem& problem = space_.problem();
    const auto ranks = static_cast<std::int64_t>(problem.cluster.size()) / size;
    if (ranks < 2) return;
    for (const std::int64_t micro_batch : shared_sizes(problem, space_.options(), size / degree)) {
      const std::int64_t in_turn = problem.training.mini_batch / micro_batch;
      if (in_turn < ranks || in_turn > kMostEach * ranks) continue;
      PlanDraft draft;
      draft.plan.training = problem.training;
      draft.plan.schedule = family.name;
      plan::Stage like;
      like.tensor_parallel = degree;
      like.sequence_parallel = degree > 1 && tokens_ && space_.limits().sequence_parallel;
      like.micro_batch = micro_batch;
      const auto all = even_ranks(problem.cluster, size, like);
      cut_row(space_, all, family.least, family.deal, draft.plan);
      if (!draft.plan.stages.empty() && space_.tidy(draft)) out.push_back(std::move(draft));
    }
  }

  std::optional<PlanDraft> thriftily_completed(const PlanDraft& row) const {
    stop_.check();
    if (auto draft = space_.completed(row)) return draft;
    PlanDraft thrifty = row;
    for (plan::Stage& stage : thrifty.plan.stages) stage.zero = stage.replicas() > 1 ? 1 : 0;
    if (auto draft = space_.completed(thrifty)) return draft;
    for (plan::Stage& stage : thrifty.plan.stages)
      if (plan::applies(space_.problem().graph, stage.operators, plan::kRecomputeCore))
        stage.recompute = plan::kRecomputeCore;
    return space_.completed(std::move(thrifty));
  }

  const PlanSpace& space_;
  const JointJudge& judge_;
  PlanScore to_beat_;
  core::StopToken stop_;
  bool tokens_;  ///< groups may divide tokens
};

}  // namespace

std::vector<JudgedDraft> row_starts(const PlanSpace& space, const JointJudge& judge, const PlanScore& to_beat,
                                    core::StopToken stop) {
  const RowStarts starts(space, judge, to_beat, stop);
  std::vector<JudgedDraft> out;
  for (const std::string_view name : kSchedules)
    if (auto best = starts.best(*std::ranges::find(kFamilyShapes, name, &FamilyShape::name)))
      out.push_back(std::move(*best));
  return out;
}

}  // namespace penstock::planners
