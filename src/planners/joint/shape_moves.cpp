#include "joint/move.hpp"
#include "joint/row_shape.hpp"

namespace penstock::planners {
namespace {

/// True if stages may have different micro-batches.
bool sizes_differ(std::string_view family) {
  return family == "1f1b" || family == "gpipe";
}

class ShapeMoves {
 public:
  explicit ShapeMoves(const MoveContext& sight) : sight_(sight), ranks_(rank_shapes(sight)) {}

  Moves all() {
    for (const FamilyShape& family : kFamilyShapes) {
      // Keep the stages if the family assigns them in the same way; PlanSpace::completed checks that.
      out_.push_back([name = family.name](PlanDraft& draft) { draft.plan.schedule = name; });
      if (ranks_.size() == 1 && family.most > 1 && family.deal == StageAssignment::zigzag)
        continue;  // equal to a loop
      for (std::size_t chunks = family.least; chunks <= family.most; chunks *= 2)
        add(ranks_, family, chunks, 1);
    }
    other_ranks(joined(ranks_));
    other_ranks(halved(ranks_));
    return std::move(out_);
  }

 private:
  /// Keeps the schedule and stages per rank; the micro-batch stays, or becomes half or twice as large.
  void other_ranks(const std::vector<RankShape>& ranks) {
    if (ranks.empty()) return;
    const std::size_t chunks = sight_.draft.plan.stages.size() / ranks_.size();
    for (const FamilyShape& family : kFamilyShapes) {
      if (sight_.draft.plan.schedule != family.name) continue;
      for (const double scale : {0.5, 1.0, 2.0}) add(ranks, family, chunks, scale);
    }
  }

  void add(const std::vector<RankShape>& ranks, const FamilyShape& family, std::size_t chunks, double scale) {
    out_.push_back([&space = sight_.space, ranks, family, chunks, scale](PlanDraft& draft) {
      const bool row = in_row(draft.plan);
      draft.plan.schedule = family.name;
      cut_row(space, ranks, chunks, family.deal, draft.plan);
      for (plan::Stage& stage : draft.plan.stages) space.scale_micro_batch(stage, scale);
      if (!sizes_differ(family.name))
        for (plan::Stage& stage : draft.plan.stages)
          stage.micro_batch = draft.plan.stages.front().micro_batch;
      if (row && draft.plan.stages.size() > 1) draft.plan.stages.back().after = {core::StageId(0)};
    });
  }

  const MoveContext& sight_;
  std::vector<RankShape> ranks_;
  Moves out_;
};

}  // namespace

Moves shape_moves(const MoveContext& sight) {
  return ShapeMoves(sight).all();
}

}  // namespace penstock::planners
