#include "penstock/sim/grid.hpp"

#include <algorithm>
#include <cmath>

#include "penstock/schedule/run_order.hpp"

namespace penstock::sim {
namespace {

using core::Picoseconds;
using schedule::Action;
using schedule::Grid;
using schedule::GridCosts;
using schedule::Pass;

Picoseconds duration(const Action& action, const GridCosts& costs) {
  switch (action.pass) {
    case Pass::forward:
      return costs.forward;
    case Pass::input_gradient:
      return costs.input_gradient;
    case Pass::weight_gradient:
      return costs.weight_gradient;
    case Pass::backward:
      return costs.input_gradient + costs.weight_gradient;
    case Pass::overlapped:
      return costs.forward + costs.input_gradient + costs.weight_gradient;
    default:
      return Picoseconds(0);
  }
}

class Clock {
 public:
  Clock(const Grid& grid, const GridCosts& costs)
      : grid_(grid), costs_(costs), reached_(grid, Picoseconds(0)), free_(grid.ranks.size()) {}

  Interval run(const schedule::Cell& cell) {
    const auto rank = static_cast<std::size_t>(cell.rank);
    const Action& action = grid_.ranks[rank][static_cast<std::size_t>(cell.position)];
    Picoseconds start = free_[rank];
    for (const Action& part : schedule::parts(action))
      if (const auto wanted = awaited(grid_, part)) start = std::max(start, arrival(*wanted, cell.rank));
    const Picoseconds end = start + duration(action, costs_);
    for (const Action& part : schedule::parts(action))
      if (const auto milestone = reached(part)) reached_[*milestone] = end;
    free_[rank] = end;
    return {start, end};
  }

 private:
  Picoseconds arrival(const schedule::Milestone& wanted, std::int32_t rank) {
    const bool local = grid_.rank_of_stage[static_cast<std::size_t>(wanted.stage)] == rank;
    return reached_[wanted] + (local ? Picoseconds(0) : costs_.delay);
  }

  const Grid& grid_;
  const GridCosts& costs_;
  schedule::Milestones<Picoseconds> reached_;
  std::vector<Picoseconds> free_;
};

struct Span {
  Picoseconds start, end, busy;
};

Span span(const schedule::Row& row, const std::vector<Interval>& times) {
  Span out;
  bool begun = false;
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (times[c].start == times[c].end) continue;
    if (!begun) out.start = times[c].start;
    begun = true;
    out.end = times[c].end;
    out.busy += times[c].end - times[c].start;
  }
  return out;
}

/// A pair's forward begins before its backward ends, so both of its micro-batches live at once.
int peak_live(const schedule::Row& row) {
  int live = 0, peak = 0;
  for (const Action& action : row)
    for (const Action& part : schedule::parts(action)) {
      if (part.pass == Pass::forward) peak = std::max(peak, ++live);
      if (part.pass == Pass::backward || part.pass == Pass::weight_gradient) --live;
    }
  return peak;
}

}  // namespace

GridResult simulate_grid(const Grid& grid, const GridCosts& costs) {
  GridResult out;
  for (const schedule::Row& row : grid.ranks) out.times.emplace_back(row.size());
  Clock clock(grid, costs);
  for (const schedule::Cell& cell : schedule::run_order(grid))
    out.times[static_cast<std::size_t>(cell.rank)][static_cast<std::size_t>(cell.position)] = clock.run(cell);
  Picoseconds busiest{0};
  for (std::size_t r = 0; r < grid.ranks.size(); ++r) {
    const Span s = span(grid.ranks[r], out.times[r]);
    out.makespan = std::max(out.makespan, s.end);
    out.longest_rank_span = std::max(out.longest_rank_span, s.end - s.start);
    busiest = std::max(busiest, s.busy);
    out.idle.push_back(s.end - s.start - s.busy);
    out.peak_live.push_back(peak_live(grid.ranks[r]));
  }
  if (out.longest_rank_span.value() > 0)
    out.bubble_rate = (out.longest_rank_span - busiest) / out.longest_rank_span;
  return out;
}

GridCosts per_chunk(const GridCosts& full, const Grid& grid) {
  const auto share = [&](Picoseconds time) {
    return Picoseconds(std::llround(static_cast<double>(time.value()) / grid.chunks()));
  };
  return {share(full.forward), share(full.input_gradient), share(full.weight_gradient), full.delay};
}

}  // namespace penstock::sim
