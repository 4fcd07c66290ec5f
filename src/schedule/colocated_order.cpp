#include "colocated_order.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "penstock/core/error.hpp"

namespace penstock::schedule {
namespace {

Action renumbered(Action action, const std::vector<std::int32_t>& stages) {
  for (std::int32_t* stage : {&action.stage, &action.backward_stage})
    if (*stage >= 0) *stage = stages[static_cast<std::size_t>(*stage)];
  return action;
}

/// Inserts the micro-batches of stages behind the pipeline into a row.
class TailInsertion {
 public:
  /// `stages`: the rank's parts of these stages, in order.
  TailInsertion(const plan::Plan& plan, std::vector<std::size_t> stages)
      : plan_(plan), stages_(std::move(stages)), size_(plan.stages[stages_.front()].micro_batch) {}

  RankOrder added(const RankOrder& row) {
    waits_for_.assign(static_cast<std::size_t>(plan_.training.mini_batch / size_), 0);
    for (const Action& action : row)
      for (const Action& part : parts(action))
        if (part.kind == ActionKind::forward) ++waits_for_[turns(part).first];
    for (const Action& action : row) {
      for (const Action& part : parts(action))
        if (is_backward(part)) run_before(turns(part).second);
      for (const Action& part : parts(action))
        if (part.kind == ActionKind::forward) --waits_for_[turns(part).first];
      out_.push_back(action);
    }
    return std::move(out_);
  }

 private:
  static bool is_backward(const Action& part) {
    return part.kind == ActionKind::backward || part.kind == ActionKind::input_gradient;
  }
  /// First and last micro-batch of the tail that have samples of this pass.
  std::pair<std::size_t, std::size_t> turns(const Action& pass) const {
    const std::int64_t size = plan_.stages[static_cast<std::size_t>(pass.stage)].micro_batch,
                       begin = pass.micro_batch * size;
    return {static_cast<std::size_t>(begin / size_), static_cast<std::size_t>((begin + size - 1) / size_)};
  }
  void run_before(std::size_t turn) {
    while (next_ <= turn) {
      if (!forwards_done())
        throw core::BadInput(
            fmt::format("stage {} takes {} samples at a time, and the pipeline that it is behind goes back "
                        "before it has run so many forward: {} holds fewer",
                        stages_.front(), size_, plan_.schedule));
      run();
    }
    if (next_ == turn + 1 && next_ < waits_for_.size() && forwards_done()) run();
  }
  bool forwards_done() const {
    return std::all_of(waits_for_.begin(), waits_for_.begin() + static_cast<std::ptrdiff_t>(next_) + 1,
                       [](int left) { return left == 0; });
  }
  void run() {
    const auto m = static_cast<int>(next_++);
    for (const std::size_t s : stages_) out_.push_back(forward(static_cast<int>(s), m));
    for (std::size_t i = stages_.size(); i-- > 0;) out_.push_back(backward(static_cast<int>(stages_[i]), m));
  }

  const plan::Plan& plan_;
  std::vector<std::size_t> stages_;
  std::int64_t size_;
  std::vector<int> waits_for_;  ///< [turn] forward passes of the row that begin in it and have not run
  std::size_t next_ = 0;        ///< turn
  RankOrder out_;
};

}  // namespace

Schedule with_colocated(const plan::Plan& plan, const plan::PipelineOf& pipeline, const Schedule& rows) {
  Schedule out{{}, plan::rank_of_stage(plan)};
  out.ranks.resize(rows.ranks.size());
  const auto row_of = [&](std::size_t stage) -> RankOrder& {
    return out.ranks[static_cast<std::size_t>(out.rank_of_stage[stage])];
  };
  const auto add_passes = [&](std::size_t s, Action (*pass)(int, int)) {
    const plan::Stage& stage = plan.stages[s];
    for (int m = 0; stage.part && m < plan.training.mini_batch / stage.micro_batch; ++m)
      row_of(s).push_back(pass(static_cast<int>(s), m));
  };
  const std::size_t behind = plan::behind_pipeline(plan);
  for (std::size_t s = 0; s < behind; ++s) add_passes(s, forward);
  for (std::size_t r = 0; r < rows.ranks.size(); ++r) {  // both number their ranks independently
    const auto stage = std::ranges::find(rows.rank_of_stage, static_cast<std::int32_t>(r));
    const auto first = static_cast<std::size_t>(stage - rows.rank_of_stage.begin());
    const auto rank = out.rank_of_stage[static_cast<std::size_t>(pipeline.stages[first])];
    RankOrder own;
    for (const Action& action : rows.ranks[r]) own.push_back(renumbered(action, pipeline.stages));
    std::vector<std::size_t> tail;
    for (std::size_t s = behind; s < plan.stages.size(); ++s)
      if (out.rank_of_stage[s] == rank) tail.push_back(s);
    if (!tail.empty()) own = TailInsertion(plan, std::move(tail)).added(own);
    RankOrder& row = out.ranks[static_cast<std::size_t>(rank)];
    row.insert(row.end(), own.begin(), own.end());
  }
  for (std::size_t s = behind; s-- > 0;) add_passes(s, backward);
  return out;
}

}  // namespace penstock::schedule
