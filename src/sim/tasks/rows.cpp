#include "tasks/rows.hpp"

namespace penstock::sim {
namespace {

using schedule::Action;
using schedule::ActionKind;

class RowBuilder {
 public:
  explicit RowBuilder(const std::vector<std::vector<cost::Bucket>>& buckets) : buckets_(buckets) {}

  RankRow build(const schedule::RankOrder& row) {
    for (const Action& action : row) add(action);
    return std::move(out_);
  }

 private:
  const std::vector<cost::Bucket>& buckets(std::int32_t stage) const {
    return buckets_[static_cast<std::size_t>(stage)];
  }

  void add(const Action& action) {
    switch (action.kind) {
      case ActionKind::idle:
        return;
      case ActionKind::barrier:
        return out_.barriers.push_back(static_cast<std::int32_t>(out_.tasks.size()));
      case ActionKind::reduce_gradient:
        return reduce(action.stage);
      case ActionKind::step:
        return step(action.stage);
      default:
        bool first = true;
        for (const Action& part : parts(action)) {
          out_.tasks.push_back({part.kind, part.stage, part.micro_batch, -1, !first});
          first = false;
        }
    }
  }

  /// Without weights there is nothing to reduce or to update.
  bool has_weights(std::int32_t stage) const { return buckets(stage).back().gradients.value() > 0; }

  void reduce(std::int32_t stage) {
    if (!has_weights(stage)) return;
    const auto count = static_cast<std::int32_t>(buckets(stage).size());
    if (count > 1 && !out_.tasks.empty() && out_.tasks.back().stage == stage && !out_.tasks.back().joined)
      return cut(stage, count);
    for (std::int32_t b = 0; b < count; ++b) out_.reductions.push_back({stage, last(), b});
  }
  void cut(std::int32_t stage, std::int32_t count) {
    RowTask whole = out_.tasks.back();
    out_.tasks.pop_back();
    for (whole.bucket = 0; whole.bucket < count; ++whole.bucket) {
      out_.tasks.push_back(whole);
      out_.reductions.push_back({stage, last(), whole.bucket});
    }
  }
  void step(std::int32_t stage) {
    if (!has_weights(stage)) return;
    out_.tasks.push_back({ActionKind::step, stage});
    std::size_t left = buckets(stage).size();  // a later update may be under way already
    for (Reduction& reduction : out_.reductions)
      if (reduction.stage == stage && reduction.step < 0 && left > 0) --left, reduction.step = last();
  }
  std::int32_t last() const { return static_cast<std::int32_t>(out_.tasks.size()) - 1; }

  const std::vector<std::vector<cost::Bucket>>& buckets_;
  RankRow out_;
};

}  // namespace

std::vector<RankRow> rank_rows(const schedule::Schedule& order,
                               const std::vector<std::vector<cost::Bucket>>& buckets_of_stage) {
  std::vector<RankRow> out;
  for (const schedule::RankOrder& row : order.ranks) out.push_back(RowBuilder(buckets_of_stage).build(row));
  return out;
}

}  // namespace penstock::sim
