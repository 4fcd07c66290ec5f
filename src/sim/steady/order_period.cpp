#include "steady/order_period.hpp"

#include <algorithm>
#include <limits>

namespace penstock::sim {
namespace {

using schedule::Action;
using schedule::RankOrder;

/// Bound on the actions of a period in one rank, so that a search without result stays short.
constexpr std::size_t kLongest = 4096;

Action shifted(Action action, const std::vector<std::int32_t>& shift, std::int32_t periods) {
  if (action.micro_batch >= 0) action.micro_batch += periods * shift[static_cast<std::size_t>(action.stage)];
  if (action.backward_micro_batch >= 0)
    action.backward_micro_batch += periods * shift[static_cast<std::size_t>(action.backward_stage)];
  return action;
}

class RepeatSearch {
 public:
  RepeatSearch(const RankOrder& row, const std::vector<std::int32_t>& shift) : row_(row), shift_(shift) {}

  /// Returns the repetition around the middle; nullopt if there is none. An action occurs once, so the first
  /// length that fits one action is the only one.
  std::optional<OrderPeriod::RepeatedActions> find() const {
    const std::size_t most = std::min(kLongest, row_.size() / 4);
    std::size_t length = 1;
    while (length <= most && !repeats(middle_, length)) ++length;
    if (length > most || !fits(length)) return {};
    return grown(length);
  }
  bool fits(std::size_t length) const {
    if (middle_ + 2 * length > row_.size()) return false;
    for (std::size_t at = middle_; at < middle_ + length; ++at)
      if (!repeats(at, length)) return false;
    return true;
  }

 private:
  bool repeats(std::size_t at, std::size_t length) const {
    const Action &a = row_[at], &b = row_[at + length];
    return a.micro_batch >= 0 && a.kind == b.kind && a.stage == b.stage &&
           a.backward_stage == b.backward_stage && b.micro_batch - a.micro_batch == shift(a.stage) &&
           b.backward_micro_batch - a.backward_micro_batch == shift(a.backward_stage);
  }
  std::int32_t shift(std::int32_t stage) const {
    return stage < 0 ? 0 : shift_[static_cast<std::size_t>(stage)];
  }
  OrderPeriod::RepeatedActions grown(std::size_t length) const {
    std::size_t begin = middle_, end = middle_;
    while (begin > 0 && repeats(begin - 1, length)) --begin;
    while (end + length < row_.size() && repeats(end, length)) ++end;
    return {begin, length, static_cast<std::int64_t>((end + length - begin) / length)};
  }

  const RankOrder& row_;
  const std::vector<std::int32_t>& shift_;
  std::size_t middle_ = row_.size() / 2;
};

/// Fills the micro-batches of every stage; returns false if a period of that many samples cuts one.
bool fill_shift(std::int64_t samples, const plan::Plan& plan, std::vector<std::int32_t>& shift) {
  shift.clear();
  for (const plan::Stage& stage : plan.stages) {
    if (samples % stage.micro_batch != 0) return false;
    shift.push_back(static_cast<std::int32_t>(samples / stage.micro_batch));
  }
  return true;
}

/// Period of that many samples.
std::optional<OrderPeriod> period_of(std::int64_t samples, std::vector<std::int32_t> shift,
                                     const schedule::Schedule& order) {
  OrderPeriod out{{}, std::move(shift), samples, std::numeric_limits<std::int64_t>::max()};
  for (const RankOrder& row : order.ranks) {
    const auto repeated = RepeatSearch(row, out.shift).find();
    if (!repeated) return {};
    out.ranks.push_back(*repeated);
    out.count = std::min(out.count, repeated->count);
  }
  return out;
}

}  // namespace

std::optional<OrderPeriod> order_period(const plan::Plan& plan, const schedule::Schedule& order) {
  if (order.copies != 1 || order.halves != 0 || order.stages() != static_cast<int>(plan.stages.size()))
    return {};
  const RankOrder& row = order.ranks.front();
  const std::size_t middle = row.size() / 2;
  if (row.empty() || row[middle].stage < 0) return {};
  const std::int64_t micro_batch = plan.stages[static_cast<std::size_t>(row[middle].stage)].micro_batch;
  std::int64_t tried = 0;
  std::vector<std::int32_t> shift;
  for (std::size_t at = middle + 1; at < row.size() && at - middle <= kLongest; ++at) {
    const std::int64_t later = std::int64_t{row[at].micro_batch} - row[middle].micro_batch;
    if (row[at].kind != row[middle].kind || row[at].stage != row[middle].stage || later <= tried) continue;
    tried = later;
    // A period has all passes of its samples: not forward passes only, as in the first half of GPipe.
    const auto passes =
        static_cast<std::int64_t>(at - middle) * (plan.training.mini_batch / (later * micro_batch));
    if (passes < static_cast<std::int64_t>(row.size() / 4 * 3)) continue;
    if (!fill_shift(later * micro_batch, plan, shift) || !RepeatSearch(row, shift).fits(at - middle))
      continue;
    if (auto period = period_of(later * micro_batch, shift, order)) return period;
  }
  return {};
}

schedule::ScheduledPlan without_periods(const graph::OpGraph& graph, const schedule::ScheduledPlan& scheduled,
                                        const OrderPeriod& period, std::int64_t cut) {
  plan::Plan plan = scheduled.plan;
  plan.training.mini_batch -= cut * period.samples;
  schedule::Schedule order;
  order.rank_of_stage = scheduled.order.rank_of_stage;
  for (std::size_t r = 0; r < period.ranks.size(); ++r) {
    const RankOrder& row = scheduled.order.ranks[r];
    const auto begin = row.begin() + static_cast<std::ptrdiff_t>(period.ranks[r].begin);
    RankOrder& out = order.ranks.emplace_back(row.begin(), begin);
    std::for_each(begin + cut * static_cast<std::ptrdiff_t>(period.ranks[r].length), row.end(),
                  [&](const Action& action) {
                    out.push_back(shifted(action, period.shift, -static_cast<std::int32_t>(cut)));
                  });
  }
  return {graph, std::move(plan), std::move(order)};
}

}  // namespace penstock::sim
