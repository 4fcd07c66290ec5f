#include "penstock/schedule/lowering.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "progress.hpp"

namespace penstock::schedule {
namespace {

RankOrder merged(const RankOrder& row) {
  RankOrder out;
  for (const Action& action : row) {
    if (action.kind == ActionKind::idle) continue;
    if (!out.empty() && action.kind == ActionKind::weight_gradient &&
        out.back() == input_gradient(action.stage, action.micro_batch))
      out.back() = backward(action.stage, action.micro_batch);
    else
      out.push_back(action);
  }
  return out;
}

/// Message after the end of a part: {send, receive}; idle if its result stays on the rank.
std::pair<Action, Action> message(const Schedule& schedule, const Action& part) {
  const bool ahead = part.kind == ActionKind::forward;
  if (!ahead && part.kind != ActionKind::backward && part.kind != ActionKind::input_gradient) return {};
  if (ahead ? schedule.last(part.stage) : schedule.first(part.stage)) return {};
  const int to = part.stage + (ahead ? 1 : -1);
  if (schedule.rank_of_stage[static_cast<std::size_t>(to)] ==
      schedule.rank_of_stage[static_cast<std::size_t>(part.stage)])
    return {};
  return {{ahead ? ActionKind::send_forward : ActionKind::send_backward, part.stage, part.micro_batch},
          {ahead ? ActionKind::receive_forward : ActionKind::receive_backward, to, part.micro_batch}};
}

void append(const Schedule& schedule, const Action& action, std::size_t rank, std::vector<RankOrder>& rows) {
  if (action.kind == ActionKind::idle) return;
  rows[rank].push_back(action);
  for (const Action& part : parts(action)) {
    const auto [send, receive] = message(schedule, part);
    if (send.kind == ActionKind::idle) continue;
    rows[rank].push_back(send);
    rows[static_cast<std::size_t>(schedule.rank_of_stage[static_cast<std::size_t>(receive.stage)])].push_back(
        receive);
  }
}

/// First `count` different stages that the row runs from `cell` on, in order of first use. There is one more if
/// the last cell is a pair, whose two stages are needed together.
std::vector<std::int32_t> upcoming(const RankOrder& row, std::size_t cell, std::size_t count) {
  std::vector<std::int32_t> out;
  for (; cell < row.size() && out.size() < count; ++cell)
    for (const Action& part : parts(row[cell]))
      if (part.stage >= 0 && std::find(out.begin(), out.end(), part.stage) == out.end())
        out.push_back(part.stage);
  return out;
}

RankOrder with_unshards(const RankOrder& row, std::size_t window) {
  RankOrder out;
  std::vector<std::int32_t> whole;  // stages that are unsharded now, in the order of their UNSHARDs
  for (std::size_t c = 0; c <= row.size(); ++c) {
    const std::vector<std::int32_t> next = upcoming(row, c, window);
    std::erase_if(whole, [&](std::int32_t stage) {
      const bool leaves = std::find(next.begin(), next.end(), stage) == next.end();
      if (leaves) out.push_back({ActionKind::reshard, stage});
      return leaves;
    });
    for (const std::int32_t stage : next)
      if (std::find(whole.begin(), whole.end(), stage) == whole.end()) {
        whole.push_back(stage);
        out.push_back({ActionKind::unshard, stage});
      }
    if (c < row.size()) out.push_back(row[c]);
  }
  return out;
}

RankOrder with_reductions(const RankOrder& row, int micro_batches) {
  RankOrder out;
  std::map<std::int32_t, int> done;
  for (const Action& action : row) {
    out.push_back(action);
    for (const Action& part : parts(action))
      if ((part.kind == ActionKind::backward || part.kind == ActionKind::weight_gradient) &&
          ++done[part.stage] == micro_batches)
        out.push_back({ActionKind::reduce_gradient, part.stage});
  }
  return out;
}

Schedule without_idle(Schedule schedule) {
  for (RankOrder& row : schedule.ranks)
    std::erase_if(row, [](const Action& action) { return action.kind == ActionKind::idle; });
  return schedule;
}

}  // namespace

Schedule merge_backwards(const Schedule& schedule) {
  Schedule out = schedule;
  for (RankOrder& row : out.ranks) row = merged(row);
  return out;
}

Schedule add_unshards(const Schedule& schedule, std::size_t window) {
  Schedule out = without_idle(schedule);
  for (RankOrder& row : out.ranks) row = with_unshards(row, window);
  return out;
}

Schedule add_reductions(const Schedule& schedule) {
  Schedule out = schedule;
  for (RankOrder& row : out.ranks) row = with_reductions(row, micro_batches(schedule));
  return out;
}

Schedule add_messages(const Schedule& schedule) {
  Schedule out = schedule;
  for (RankOrder& row : out.ranks) row.clear();
  ScheduleProgress progress(schedule);
  std::vector<char> waits(schedule.ranks.size(), false);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
      if (waits[r]) {
        waits[r] = false;
        moved = true;
        continue;
      }
      if (!progress.ready(r)) continue;
      const Action& action = progress.step(r);
      append(schedule, action, r, out.ranks);
      waits[r] = action.kind == ActionKind::reduce_gradient;
      moved = true;
    }
  }
  return out;
}

int unit_steps(const Schedule& schedule) {
  const Schedule busy = without_idle(schedule);
  ScheduleProgress progress(busy);
  int steps = 0;
  for (bool moved = true; moved; steps += moved) {
    moved = false;
    std::vector<char> stepped(busy.ranks.size(), false);
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t r = 0; r < busy.ranks.size(); ++r) {
        if (stepped[r] || !progress.ready(r)) continue;
        progress.step(r);
        stepped[r] = moved = true;
      }
  }
  return steps;
}

}  // namespace penstock::schedule
