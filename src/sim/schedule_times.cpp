#include "penstock/sim/schedule_times.hpp"

#include <algorithm>
#include <cmath>

#include "live_stages.hpp"
#include "penstock/core/error.hpp"
#include "penstock/schedule/run_order.hpp"

namespace penstock::sim {
namespace {

using core::Picoseconds;
using schedule::Action;
using schedule::ActionKind;
using schedule::PassCosts;
using schedule::Schedule;

Picoseconds whole_duration(const Action& action, const PassCosts& costs) {
  switch (action.kind) {
    case ActionKind::forward:
      return costs.forward;
    case ActionKind::input_gradient:
      return costs.input_gradient;
    case ActionKind::weight_gradient:
      return costs.weight_gradient;
    case ActionKind::backward:
      return costs.input_gradient + costs.weight_gradient;
    case ActionKind::overlapped:
      return costs.forward + costs.input_gradient + costs.weight_gradient;
    case ActionKind::recompute:
      return costs.recompute.value_or(costs.forward);
    case ActionKind::step:
      return costs.step;
    default:
      return Picoseconds(0);
  }
}

Picoseconds duration(const Schedule& schedule, const Action& action, const PassCosts& costs) {
  if (schedule.halves == 0) return whole_duration(action, costs);
  Picoseconds sum{0};
  for (const Action& part : schedule::parts(action))
    sum +=
        whole_duration(part, costs) / (part.micro_batch >= 0 && part.micro_batch < schedule.halves ? 2 : 1);
  return sum;
}

class ScheduleClock {
 public:
  ScheduleClock(const Schedule& schedule, const PassCosts& costs)
      : schedule_(schedule),
        costs_(costs),
        reached_(schedule, Picoseconds(0)),
        free_(schedule.ranks.size()),
        passed_(schedule.ranks.size()) {}

  TimeInterval run(const schedule::RowCell& cell) {
    const auto rank = static_cast<std::size_t>(cell.rank);
    const Action& action = schedule_.ranks[rank][static_cast<std::size_t>(cell.position)];
    if (action.kind == ActionKind::barrier) free_[rank] = barrier(passed_[rank]++);
    Picoseconds start = free_[rank];
    for (const Action& part : schedule::parts(action)) start = std::max(start, input(part, cell.rank));
    const Picoseconds end = start + duration(schedule_, action, costs_);
    if (end > kLatest)
      throw core::BadInput("the schedule takes more than 4 million seconds; the clock ends there");
    for (const Action& part : schedule::parts(action))
      if (const auto milestone = reached(part))
        reached_[*milestone] = part.kind == ActionKind::load ? end + costs_.delay : end;
    free_[rank] = end;
    return {start, end};
  }

 private:
  static constexpr Picoseconds kLatest{
      4'000'000'000'000'000'000};  ///< leaves room on the clock for any action and delay

  /// Time at which a barrier opens: when all ranks have arrived. Called for the first rank to pass it.
  Picoseconds barrier(std::size_t number) {
    if (number == barriers_.size()) barriers_.push_back(*std::max_element(free_.begin(), free_.end()));
    return barriers_[number];
  }

  Picoseconds input(const Action& part, std::int32_t rank) {
    const auto wanted = awaited(schedule_, part);
    if (!wanted) return Picoseconds(0);
    const Picoseconds there = arrival(*wanted, rank);
    if (wanted->kind == ActionKind::evict) return there + costs_.delay;
    if (part.kind != ActionKind::backward && part.kind != ActionKind::input_gradient) return there;
    return std::max(there, reached_[{ActionKind::load, part.stage, part.micro_batch}]);
  }

  Picoseconds arrival(const schedule::ActionMilestone& wanted, std::int32_t rank) {
    const bool local = schedule_.rank_of_stage[static_cast<std::size_t>(wanted.stage)] == rank;
    return reached_[wanted] + (local ? Picoseconds(0) : costs_.delay);
  }

  const Schedule& schedule_;
  const PassCosts& costs_;
  schedule::MilestoneValues<Picoseconds> reached_;
  std::vector<Picoseconds> free_;
  std::vector<std::size_t> passed_;    ///< [rank] number of barriers passed
  std::vector<Picoseconds> barriers_;  ///< [barrier] time at which it opened
};

struct RankSpan {
  Picoseconds start, end, busy;
};

RankSpan span(const schedule::RankOrder& row, const std::vector<TimeInterval>& times) {
  RankSpan out;
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

}  // namespace

ScheduleTimes simulate_schedule(const Schedule& schedule, const PassCosts& costs) {
  ScheduleTimes out;
  for (const schedule::RankOrder& row : schedule.ranks) out.times.emplace_back(row.size());
  ScheduleClock clock(schedule, costs);
  for (const schedule::RowCell& cell : schedule::run_order(schedule))
    out.times[static_cast<std::size_t>(cell.rank)][static_cast<std::size_t>(cell.position)] = clock.run(cell);
  Picoseconds busiest{0};
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
    const RankSpan s = span(schedule.ranks[r], out.times[r]);
    out.makespan = std::max(out.makespan, s.end);
    out.longest_rank_span = std::max(out.longest_rank_span, s.end - s.start);
    busiest = std::max(busiest, s.busy);
    out.idle.push_back(s.end - s.start - s.busy);
  }
  out.peak_live = peak_live(schedule, out.times);
  if (out.longest_rank_span.value() > 0)
    out.bubble_rate = (out.longest_rank_span - busiest) / out.longest_rank_span;
  return out;
}

PassCosts per_chunk(const PassCosts& full, const Schedule& schedule) {
  const auto share = [&](Picoseconds time) {
    return Picoseconds(std::llround(static_cast<double>(time.value()) / schedule.chunks()));
  };
  PassCosts out{share(full.forward), share(full.input_gradient), share(full.weight_gradient), full.delay, {},
                share(full.step)};
  if (full.recompute) out.recompute = share(*full.recompute);
  return out;
}

}  // namespace penstock::sim
