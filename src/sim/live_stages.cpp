#include "live_stages.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace penstock::sim {
namespace {

using core::Picoseconds;
using schedule::Action;
using schedule::Pass;
using schedule::Row;

struct Change {
  Picoseconds time;
  int by = 0;  ///< +1 or -1
};
using Changes = std::vector<Change>;  ///< in order of time

/// What one row does to its own rank and to the partner's.
struct Effect {
  Changes own, partner;
};

class RowEffect {
 public:
  explicit RowEffect(const Row& row) {
    for (const Action& action : row)
      if (action.pass == Pass::recompute) recomputed_.emplace(action.stage, action.micro_batch);
  }

  void add(const Action& part, const Interval& time) {
    if (part.pass == Pass::backward || part.pass == Pass::weight_gradient) out_.own.push_back({time.end, -1});
    if (part.pass == Pass::recompute || (part.pass == Pass::forward && !recomputed(part)))
      out_.own.push_back({time.start, 1});
    if (part.pass != Pass::evict && part.pass != Pass::load) return;
    const int by = part.pass == Pass::load ? 1 : -1;
    out_.own.push_back({time.start, by});
    out_.partner.push_back({time.start, -by});
  }
  Effect finish() && { return std::move(out_); }

 private:
  bool recomputed(const Action& part) const {
    return !recomputed_.empty() && recomputed_.contains({part.stage, part.micro_batch});
  }

  std::set<std::pair<std::int32_t, std::int32_t>> recomputed_;
  Effect out_;
};

/// A pair's forward begins before its backward ends, so both of its micro-batches live at once.
Effect effect(const Row& row, const std::vector<Interval>& times) {
  RowEffect out(row);
  for (std::size_t c = 0; c < row.size(); ++c)
    for (const Action& part : schedule::parts(row[c])) out.add(part, times[c]);
  return std::move(out).finish();
}

/// The rank's own changes keep the order of the row; at one moment releases come first.
int peak(const Changes& own, const Changes& foreign) {
  int live = 0, peak = 0;
  auto other = foreign.begin();
  const auto take = [&](const Change& change) { peak = std::max(peak, live += change.by); };
  for (const Change& change : own) {
    while (other != foreign.end() && std::tie(other->time, other->by) < std::tie(change.time, change.by))
      take(*other++);
    take(change);
  }
  while (other != foreign.end()) take(*other++);
  return peak;
}

}  // namespace

std::vector<int> peak_live(const schedule::Grid& grid, const std::vector<std::vector<Interval>>& times) {
  std::vector<Effect> effects;
  for (std::size_t r = 0; r < grid.ranks.size(); ++r) effects.push_back(effect(grid.ranks[r], times[r]));
  std::vector<int> out;
  for (std::size_t r = 0; r < grid.ranks.size(); ++r)
    out.push_back(peak(effects[r].own, effects[schedule::partner(r, effects.size())].partner));
  return out;
}

}  // namespace penstock::sim
