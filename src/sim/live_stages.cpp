#include "live_stages.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace penstock::sim {
namespace {

using core::Picoseconds;
using schedule::Action;
using schedule::ActionKind;
using schedule::RankOrder;

struct LiveChange {
  Picoseconds time;
  int by = 0;  ///< in halves of a stage's activation
};
using Changes = std::vector<LiveChange>;  ///< in order of time

/// Changes that one row causes on its own rank and on the partner's.
struct RowEffect {
  Changes own, partner;
};

class OrderEffect {
 public:
  OrderEffect(const RankOrder& row, std::int32_t halves) : halves_(halves) {
    for (const Action& action : row)
      if (action.kind == ActionKind::recompute) recomputed_.emplace(action.stage, action.micro_batch);
  }

  void add(const Action& part, const TimeInterval& time) {
    const int size = part.micro_batch < halves_ ? 1 : 2;
    if (part.kind == ActionKind::backward || part.kind == ActionKind::weight_gradient)
      out_.own.push_back({time.end, -size});
    if (part.kind == ActionKind::recompute || (part.kind == ActionKind::forward && !recomputed(part)))
      out_.own.push_back({time.start, size});
    if (part.kind != ActionKind::evict && part.kind != ActionKind::load) return;
    const int by = part.kind == ActionKind::load ? size : -size;
    out_.own.push_back({time.start, by});
    out_.partner.push_back({time.start, -by});
  }
  RowEffect finish() && { return std::move(out_); }

 private:
  bool recomputed(const Action& part) const {
    return !recomputed_.empty() && recomputed_.contains({part.stage, part.micro_batch});
  }

  std::int32_t halves_;
  std::set<std::pair<std::int32_t, std::int32_t>> recomputed_;
  RowEffect out_;
};

/// A pair's forward begins before its backward ends, so both micro-batches are live at once.
RowEffect effect(const RankOrder& row, const std::vector<TimeInterval>& times, std::int32_t halves) {
  OrderEffect out(row, halves);
  for (std::size_t c = 0; c < row.size(); ++c)
    for (const Action& part : schedule::parts(row[c])) out.add(part, times[c]);
  return std::move(out).finish();
}

/// Peak of own and foreign changes. The rank's own changes keep the order of the row; at one moment releases
/// come first.
int peak(const Changes& own, const Changes& foreign) {
  int live = 0, peak = 0;
  auto other = foreign.begin();
  const auto take = [&](const LiveChange& change) { peak = std::max(peak, live += change.by); };
  for (const LiveChange& change : own) {
    while (other != foreign.end() && std::tie(other->time, other->by) < std::tie(change.time, change.by))
      take(*other++);
    take(change);
  }
  while (other != foreign.end()) take(*other++);
  return peak;
}

}  // namespace

std::vector<int> peak_live(const schedule::Schedule& schedule,
                           const std::vector<std::vector<TimeInterval>>& times) {
  std::vector<RowEffect> effects;
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r)
    effects.push_back(effect(schedule.ranks[r], times[r], schedule.halves));
  std::vector<int> out;
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r)
    out.push_back((peak(effects[r].own, effects[schedule::partner(r, effects.size())].partner) + 1) / 2);
  return out;
}

}  // namespace penstock::sim
