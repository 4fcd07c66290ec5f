#include "penstock/schedule/lowering.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "progress.hpp"

namespace penstock::schedule {
namespace {

Row merged(const Row& row) {
  Row out;
  for (const Action& action : row) {
    if (action.pass == Pass::idle) continue;
    if (!out.empty() && action.pass == Pass::weight_gradient &&
        out.back() == input_gradient(action.stage, action.micro_batch))
      out.back() = backward(action.stage, action.micro_batch);
    else
      out.push_back(action);
  }
  return out;
}

/// The message a part's end calls for: {send, receive}; idle when its result stays on the rank.
std::pair<Action, Action> message(const Grid& grid, const Action& part) {
  const bool ahead = part.pass == Pass::forward;
  if (!ahead && part.pass != Pass::backward && part.pass != Pass::input_gradient) return {};
  if (ahead ? grid.last(part.stage) : grid.first(part.stage)) return {};
  const int to = part.stage + (ahead ? 1 : -1);
  if (grid.rank_of_stage[static_cast<std::size_t>(to)] ==
      grid.rank_of_stage[static_cast<std::size_t>(part.stage)])
    return {};
  return {{ahead ? Pass::send_forward : Pass::send_backward, part.stage, part.micro_batch},
          {ahead ? Pass::receive_forward : Pass::receive_backward, to, part.micro_batch}};
}

void append(const Grid& grid, const Action& action, std::size_t rank, std::vector<Row>& rows) {
  if (action.pass == Pass::idle) return;
  rows[rank].push_back(action);
  for (const Action& part : parts(action)) {
    const auto [send, receive] = message(grid, part);
    if (send.pass == Pass::idle) continue;
    rows[rank].push_back(send);
    rows[static_cast<std::size_t>(grid.rank_of_stage[static_cast<std::size_t>(receive.stage)])].push_back(
        receive);
  }
}

/// The first `count` different stages that the row runs from `cell` on, in order of first use.
std::vector<std::int32_t> upcoming(const Row& row, std::size_t cell, std::size_t count) {
  std::vector<std::int32_t> out;
  for (; cell < row.size() && out.size() < count; ++cell)
    for (const Action& part : parts(row[cell]))
      if (part.stage >= 0 && std::find(out.begin(), out.end(), part.stage) == out.end())
        out.push_back(part.stage);
  return out;
}

Row with_unshards(const Row& row, std::size_t window) {
  Row out;
  std::set<std::int32_t> whole;  // the stages unsharded now
  for (std::size_t c = 0; c <= row.size(); ++c) {
    const std::vector<std::int32_t> next = upcoming(row, c, window);
    std::erase_if(whole, [&](std::int32_t stage) {
      const bool leaves = std::find(next.begin(), next.end(), stage) == next.end();
      if (leaves) out.push_back({Pass::reshard, stage});
      return leaves;
    });
    for (const std::int32_t stage : next)
      if (whole.insert(stage).second) out.push_back({Pass::unshard, stage});
    if (c < row.size()) out.push_back(row[c]);
  }
  return out;
}

Row with_reductions(const Row& row, int micro_batches) {
  Row out;
  std::map<std::int32_t, int> done;
  for (const Action& action : row) {
    out.push_back(action);
    for (const Action& part : parts(action))
      if ((part.pass == Pass::backward || part.pass == Pass::weight_gradient) &&
          ++done[part.stage] == micro_batches)
        out.push_back({Pass::reduce_gradient, part.stage});
  }
  return out;
}

Grid without_idle(Grid grid) {
  for (Row& row : grid.ranks)
    std::erase_if(row, [](const Action& action) { return action.pass == Pass::idle; });
  return grid;
}

}  // namespace

Grid merge_backwards(const Grid& grid) {
  Grid out = grid;
  for (Row& row : out.ranks) row = merged(row);
  return out;
}

Grid add_unshards(const Grid& grid, std::size_t window) {
  Grid out = without_idle(grid);
  for (Row& row : out.ranks) row = with_unshards(row, window);
  return out;
}

Grid add_reductions(const Grid& grid) {
  Grid out = grid;
  for (Row& row : out.ranks) row = with_reductions(row, micro_batches(grid));
  return out;
}

Grid add_messages(const Grid& grid) {
  Grid out = grid;
  for (Row& row : out.ranks) row.clear();
  Progress progress(grid);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < grid.ranks.size(); ++r) {
      if (!progress.ready(r)) continue;
      append(grid, progress.step(r), r, out.ranks);
      moved = true;
    }
  }
  return out;
}

int unit_steps(const Grid& grid) {
  const Grid busy = without_idle(grid);
  Progress progress(busy);
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
