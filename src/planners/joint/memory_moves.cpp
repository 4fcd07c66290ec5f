#include <algorithm>

#include "joint/move.hpp"
#include "tensor/tensor_groups.hpp"

namespace penstock::planners {
namespace {

using plan::Stage;
using Stages = std::vector<std::size_t>;

class MemoryMoves {
 public:
  explicit MemoryMoves(const MoveContext& sight) : sight_(sight), stages_(sight.draft.plan.stages) {}

  Moves all() {
    const Stages every = all_stages();
    degrees(every);
    and_sharded(every);
    settings(every);
    with_other_sizes(every);
    if (sight_.ranks.size() > 1)
      for (const Stages& rank : sight_.ranks) degrees(rank);
    if (stages_.size() > 1)
      for (const std::size_t s : every) settings({s});
    return std::move(out_);
  }

 private:
  Stages all_stages() const {
    Stages out;
    for (std::size_t s = 0; s < stages_.size(); ++s) out.push_back(s);
    return out;
  }

  template <class Change>
  void add(const Stages& which, Change change) {
    out_.push_back([which, change](PlanDraft& draft) {
      for (const std::size_t s : which) change(draft.plan.stages[s]);
    });
  }

  /// Changes degrees; a fixed micro-batch per replica changes with them.
  void degrees(const Stages& which) {
    const PlanSpace& space = sight_.space;
    for (const int degree : tensor_degrees(space.problem().cluster, space.options()))
      add(which, [&space, degree](Stage& stage) {
        stage.tensor_parallel = degree;
        space.scale_micro_batch(stage, 1);
      });
  }

  /// A lower degree holds more, which may fit only with sharding: change both at once.
  void and_sharded(const Stages& every) {
    const Moves alone = out_;
    for (const Move& degree : alone)
      for (const int zero : {1, 2, 3}) add_after(degree, every, [zero](Stage& stage) { stage.zero = zero; });
  }

  void settings(const Stages& which) {
    for (const int zero : {0, 1, 2, 3}) add(which, [zero](Stage& stage) { stage.zero = zero; });
    add(which, [](Stage& stage) { stage.sequence_parallel = !stage.sequence_parallel; });
    for (const auto& again : {plan::Recomputation{}, plan::kRecomputeStage, plan::kRecomputeEarly,
                              plan::kRecomputeLayers, plan::kRecomputeCore})
      add(which, [again](Stage& stage) { stage.recompute = again; });
    for (const std::int64_t first : {1, 2, 4, 8})
      add(which, [first](Stage& stage) {
        stage.recompute = {plan::Recomputation::SegmentScope::layers, false, first};
      });
  }

  /// Less memory pays off by larger micro-batches that then fit, and vice versa. Changes both at once,
  /// because one change may not fit or may be slower.
  void with_other_sizes(const Stages& every) {
    const auto& options = sight_.space.options();
    if (options.micro_batch || options.pipeline_micro_batch) return;
    const Moves alone = out_;
    for (const Move& move : alone) {
      add_after(move, every, [](Stage& stage) { stage.micro_batch *= 2; });
      add_after(move, every, [](Stage& stage) { stage.micro_batch /= 2; });
    }
  }

  template <class Change>
  void add_after(const Move& move, const Stages& which, Change change) {
    out_.push_back([move, which, change](PlanDraft& draft) {
      move(draft);
      for (const std::size_t s : which) change(draft.plan.stages[s]);
    });
  }

  const MoveContext& sight_;
  const std::vector<Stage>& stages_;
  Moves out_;
};

}  // namespace

Moves memory_moves(const MoveContext& sight) {
  return MemoryMoves(sight).all();
}

}  // namespace penstock::planners
