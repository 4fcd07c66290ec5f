#include <algorithm>

#include "joint/move.hpp"

namespace penstock::planners {
namespace {

using plan::Stage;
using Stages = std::vector<std::size_t>;

class MeshMoves {
 public:
  explicit MeshMoves(const MoveContext& sight) : space_(sight.space), stages_(sight.draft.plan.stages) {
    for (std::size_t s = 0; s < stages_.size(); ++s) every_.push_back(s);
    which_.push_back(every_);
    if (sight.ranks.size() > 1) which_.insert(which_.end(), sight.ranks.begin(), sight.ranks.end());
  }

  Moves all() {
    for (const Stages& which : which_) {
      contexts(which);
      experts(which);
      shards(which);
    }
    experts_and_sizes();
    exchanges();
    return std::move(out_);
  }

 private:
  template <class Change>
  void add(const Stages& which, Change change) {
    out_.push_back([which, change](PlanDraft& draft) {
      for (const std::size_t s : which) change(draft.plan.stages[s]);
    });
  }

  /// Context groups replace replicas. The remaining replicas have more samples of an equal micro-batch, or as
  /// many of a smaller one.
  void contexts(const Stages& which) {
    if (space_.context_sizes().size() < 2) return;
    for (const int size : space_.context_sizes())
      for (const bool samples_stay : {false, true})
        add(which, [&space = space_, size, samples_stay](Stage& stage) {
          const int before = stage.context_parallel;
          stage.context_parallel = size;
          space.scale_micro_batch(stage, samples_stay ? static_cast<double>(before) / size : 1);
        });
  }

  void experts(const Stages& which) {
    if (space_.expert_sizes().size() < 2) return;
    for (const int size : space_.expert_sizes())
      for (const bool whole : {false, true})
        if (!whole || divides_tokens(which))
          add(which, [size, whole](Stage& stage) { divide_experts(stage, size, whole); });
  }

  /// True if tensor-parallel groups of these stages may divide tokens, so that their experts may be whole.
  bool divides_tokens(const Stages& which) const {
    return space_.limits().sequence_parallel && std::ranges::any_of(which, [&](std::size_t s) {
             return stages_[s].tensor_parallel > 1 && stages_[s].shares.empty();
           });
  }

  /// Memory saved by divided experts may go into larger micro-batches or less tensor parallelism. Changes
  /// both at once, because one change may not fit or may be slower.
  void experts_and_sizes() {
    for (const int size : space_.expert_sizes())
      for (const double scale : {0.5, 1.0, 2.0, 4.0})
        for (const int fewer : {1, 2, 4, 8})
          if (size > 1)
            add(every_, [&space = space_, size, scale, fewer](Stage& stage) {
              if (stage.tensor_parallel % fewer != 0) return;
              stage.tensor_parallel /= fewer;
              divide_experts(stage, size, stage.whole_experts);
              space.scale_micro_batch(stage, scale);
            });
  }

  static void divide_experts(Stage& stage, int size, bool whole) {
    stage.expert_parallel = size;
    stage.whole_experts = whole && stage.tensor_parallel > 1;
    stage.sequence_parallel |= stage.whole_experts;
    stage.zero_over = 0;  // parts of experts and of the rest are shared among all devices
  }

  /// Changes the size of ZeRO groups: few neighbours are close to each other; all devices have the smallest
  /// shards.
  void shards(const Stages& which) {
    std::int64_t most = 1;  // maximum number of devices with equal weights
    for (const std::size_t s : which) most = std::max(most, stages_[s].weight_replicas());
    if (!space_.limits().hybrid_sharding) return;
    for (int zero = 1; zero <= space_.limits().zero; ++zero)
      for (std::int64_t over = 1; over < most; over *= 2)
        add(which, [zero, over](Stage& stage) {
          stage.zero = zero;
          stage.zero_over = over == 1 ? 0 : over;
        });
  }

  void exchanges() {
    using plan::ContextExchange;
    if (std::ranges::all_of(stages_, [](const Stage& stage) { return stage.context_parallel == 1; })) return;
    for (const auto exchange : {ContextExchange::ring, ContextExchange::all_gather, ContextExchange::ulysses})
      add(every_, [exchange](Stage& stage) { stage.context_exchange = exchange; });
  }

  const PlanSpace& space_;
  const std::vector<Stage>& stages_;
  Stages every_;
  std::vector<Stages> which_;
  Moves out_;
};

}  // namespace

Moves mesh_moves(const MoveContext& sight) {
  return MeshMoves(sight).all();
}

}  // namespace penstock::planners
