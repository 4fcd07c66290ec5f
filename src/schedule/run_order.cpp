#include "penstock/schedule/run_order.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "progress.hpp"

namespace penstock::schedule {
namespace {

/// Runs the rank as far as it goes.
bool advance(Progress& progress, std::size_t rank, std::vector<Cell>& order) {
  const std::size_t before = order.size();
  while (progress.ready(rank)) {
    order.push_back({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(progress.position(rank))});
    progress.step(rank);
  }
  return order.size() != before;
}

std::vector<Cell> advance_all(const Grid& grid, Progress& progress) {
  std::vector<Cell> order;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < grid.ranks.size(); ++r) moved |= advance(progress, r, order);
  }
  return order;
}

bool reaches(const Action& action, const Milestone& wanted) {
  for (const Action& part : parts(action))
    if (const auto end = reached(part); end && end->pass == wanted.pass && end->stage == wanted.stage &&
                                        end->micro_batch == wanted.micro_batch)
      return true;
  return false;
}

struct Link {
  std::size_t rank;  ///< where the milestone would be reached
  std::string text;
};

/// What the stuck rank waits for, and where that stands; no rank when no action brings it about.
std::optional<Link> waits_on(const Grid& grid, Progress& progress, std::size_t rank) {
  const std::string who =
      fmt::format("rank {} cell {} ({})", rank, progress.position(rank), token(progress.head(rank)));
  if (const auto late = progress.absent(rank))
    return Link{*late, fmt::format("{} waits for that of rank {}", who, *late)};
  const Milestone wanted = *progress.missing(rank);
  for (std::size_t r = 0; r < grid.ranks.size(); ++r)
    for (std::size_t c = progress.position(r); c < grid.ranks[r].size(); ++c)
      if (reaches(grid.ranks[r][c], wanted))
        return Link{r, fmt::format("{} waits for {} in rank {} cell {}", who, token(grid.ranks[r][c]), r, c)};
  return {};
}

/// Follows the waits from a stuck rank until one comes up again.
std::string circle(const Grid& grid, Progress& progress, std::size_t rank) {
  std::vector<std::size_t> seen;
  std::vector<std::string> trail;
  auto again = seen.end();
  for (; again == seen.end(); again = std::find(seen.begin(), seen.end(), rank)) {
    if (progress.finished(rank)) return fmt::format("rank {} ends before the barrier", rank);
    const auto link = waits_on(grid, progress, rank);
    if (!link) return fmt::format("rank {} waits for what no rank does", rank);
    seen.push_back(rank);
    trail.push_back(link->text);
    rank = link->rank;
  }
  trail.erase(trail.begin(), trail.begin() + (again - seen.begin()));
  return fmt::format("{}", fmt::join(trail, ", "));
}

}  // namespace

std::optional<Milestone> awaited(const Grid& grid, const Action& part) {
  const std::int32_t s = part.stage, m = part.micro_batch;
  switch (part.pass) {
    case Pass::forward:
      return grid.first(s) ? std::nullopt : std::optional(Milestone{Pass::forward, s - 1, m});
    case Pass::input_gradient:
    case Pass::backward:
      return grid.last(s) ? Milestone{Pass::forward, s, m} : Milestone{Pass::input_gradient, s + 1, m};
    case Pass::weight_gradient:
    case Pass::send_backward:
      return Milestone{Pass::input_gradient, s, m};
    case Pass::send_forward:
      return Milestone{Pass::forward, s, m};
    case Pass::recompute:
    case Pass::evict:
      return Milestone{Pass::forward, s, m};
    case Pass::load:
      return Milestone{Pass::evict, s, m};
    case Pass::receive_forward:
      return Milestone{Pass::send_forward, s - 1, m};
    case Pass::receive_backward:
      return Milestone{Pass::send_backward, s + 1, m};
    default:
      return {};
  }
}

std::optional<Milestone> reached(const Action& part) {
  switch (part.pass) {
    case Pass::forward:
    case Pass::input_gradient:
    case Pass::send_forward:
    case Pass::send_backward:
    case Pass::evict:
    case Pass::load:
      return Milestone{part.pass, part.stage, part.micro_batch};
    case Pass::backward:
      return Milestone{Pass::input_gradient, part.stage, part.micro_batch};
    default:
      return {};
  }
}

std::vector<Cell> run_order(const Grid& grid) {
  Progress progress(grid);
  return advance_all(grid, progress);
}

std::string deadlock(const Grid& grid) {
  Progress progress(grid);
  advance_all(grid, progress);
  std::size_t rank = 0;
  while (rank < grid.ranks.size() && progress.finished(rank)) ++rank;
  return rank == grid.ranks.size() ? "" : "deadlock: " + circle(grid, progress, rank);
}

}  // namespace penstock::schedule
