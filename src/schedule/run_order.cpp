#include "penstock/schedule/run_order.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "progress.hpp"

namespace penstock::schedule {
namespace {

/// Runs the rank as far as possible.
bool advance(ScheduleProgress& progress, std::size_t rank, std::vector<RowCell>& order) {
  const std::size_t before = order.size();
  while (progress.ready(rank)) {
    order.push_back({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(progress.position(rank))});
    progress.step(rank);
  }
  return order.size() != before;
}

std::vector<RowCell> advance_all(const Schedule& schedule, ScheduleProgress& progress) {
  std::vector<RowCell> order;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < schedule.ranks.size(); ++r) moved |= advance(progress, r, order);
  }
  return order;
}

bool reaches(const Action& action, const ActionMilestone& wanted) {
  for (const Action& part : parts(action))
    if (const auto end = reached(part); end && end->kind == wanted.kind && end->stage == wanted.stage &&
                                        end->micro_batch == wanted.micro_batch)
      return true;
  return false;
}

struct WaitLink {
  std::size_t rank;  ///< rank where the milestone would be reached
  std::string text;
};

/// Milestone that the stuck rank waits for, and the rank that would reach it; no rank if no action does.
std::optional<WaitLink> waits_on(const Schedule& schedule, ScheduleProgress& progress, std::size_t rank) {
  const std::string who =
      fmt::format("rank {} cell {} ({})", rank, progress.position(rank), token(progress.head(rank)));
  if (const auto late = progress.absent(rank))
    return WaitLink{*late, fmt::format("{} waits for that of rank {}", who, *late)};
  const ActionMilestone wanted = *progress.missing(rank);
  for (std::size_t r = 0; r < schedule.ranks.size(); ++r)
    for (std::size_t c = progress.position(r); c < schedule.ranks[r].size(); ++c)
      if (reaches(schedule.ranks[r][c], wanted))
        return WaitLink{
            r, fmt::format("{} waits for {} in rank {} cell {}", who, token(schedule.ranks[r][c]), r, c)};
  return {};
}

/// Follows dependencies from a stuck rank until a rank repeats.
std::string circle(const Schedule& schedule, ScheduleProgress& progress, std::size_t rank) {
  std::vector<std::size_t> seen;
  std::vector<std::string> trail;
  auto again = seen.end();
  for (; again == seen.end(); again = std::find(seen.begin(), seen.end(), rank)) {
    if (progress.finished(rank)) return fmt::format("rank {} ends before the barrier", rank);
    const auto link = waits_on(schedule, progress, rank);
    if (!link) return fmt::format("rank {} waits for what no rank does", rank);
    seen.push_back(rank);
    trail.push_back(link->text);
    rank = link->rank;
  }
  trail.erase(trail.begin(), trail.begin() + (again - seen.begin()));
  return fmt::format("{}", fmt::join(trail, ", "));
}

}  // namespace

std::optional<ActionMilestone> awaited(const Schedule& schedule, const Action& part) {
  const std::int32_t s = part.stage, m = part.micro_batch;
  switch (part.kind) {
    case ActionKind::forward:
      return schedule.first(s) ? std::nullopt : std::optional(ActionMilestone{ActionKind::forward, s - 1, m});
    case ActionKind::input_gradient:
    case ActionKind::backward:
      return schedule.last(s) ? ActionMilestone{ActionKind::forward, s, m}
                              : ActionMilestone{ActionKind::input_gradient, s + 1, m};
    case ActionKind::weight_gradient:
    case ActionKind::send_backward:
      return ActionMilestone{ActionKind::input_gradient, s, m};
    case ActionKind::send_forward:
      return ActionMilestone{ActionKind::forward, s, m};
    case ActionKind::recompute:
    case ActionKind::evict:
      return ActionMilestone{ActionKind::forward, s, m};
    case ActionKind::load:
      return ActionMilestone{ActionKind::evict, s, m};
    case ActionKind::receive_forward:
      return ActionMilestone{ActionKind::send_forward, s - 1, m};
    case ActionKind::receive_backward:
      return ActionMilestone{ActionKind::send_backward, s + 1, m};
    default:
      return {};
  }
}

std::optional<ActionMilestone> reached(const Action& part) {
  switch (part.kind) {
    case ActionKind::forward:
    case ActionKind::input_gradient:
    case ActionKind::send_forward:
    case ActionKind::send_backward:
    case ActionKind::evict:
    case ActionKind::load:
      return ActionMilestone{part.kind, part.stage, part.micro_batch};
    case ActionKind::backward:
      return ActionMilestone{ActionKind::input_gradient, part.stage, part.micro_batch};
    default:
      return {};
  }
}

std::vector<RowCell> run_order(const Schedule& schedule) {
  ScheduleProgress progress(schedule);
  return advance_all(schedule, progress);
}

std::string deadlock(const Schedule& schedule) {
  ScheduleProgress progress(schedule);
  advance_all(schedule, progress);
  std::size_t rank = 0;
  while (rank < schedule.ranks.size() && progress.finished(rank)) ++rank;
  return rank == schedule.ranks.size() ? "" : "deadlock: " + circle(schedule, progress, rank);
}

}  // namespace penstock::schedule
