#include "tasks/post_order.hpp"

#include <algorithm>
#include <map>

namespace penstock::sim {
namespace {

using schedule::ActionKind;

/// True if the instruction runs as one with the next: pieces of a pass, or a pair.
bool goes_on(const program::Row& row, std::size_t p) {
  if (p + 1 >= row.size()) return false;
  const program::Instruction &now = row[p], &next = row[p + 1];
  return next.joined || (program::computes(now.kind) && next.kind == now.kind && next.stage == now.stage &&
                         next.micro_batch == now.micro_batch);
}

}  // namespace

void PostOrder::add(const program::StageMessage& message, const PostedTransfer& posted) {
  entries_.push_back({program_.stages[message.from.stage.index()].rank, message.from.position,
                      program_.stages[message.to.stage.index()].rank, message.to.position, posted});
}

void PostOrder::chain(TaskList& tasks) const {
  // Messages by the instruction that makes them, and how many each instruction waits for.
  std::vector<std::map<std::size_t, std::vector<const PostedMessage*>>> made(program_.ranks.size());
  std::vector<std::map<std::size_t, std::int64_t>> awaited(program_.ranks.size());
  for (const PostedMessage& each : entries_) {
    made[each.rank][static_cast<std::size_t>(each.position)].push_back(&each);
    ++awaited[each.to_rank][static_cast<std::size_t>(each.awaited_at)];
  }
  std::map<std::size_t, TaskId> last;  // by device
  const auto append = [&](std::size_t device, TaskId task) {
    const auto [known, first] = last.try_emplace(device, task);
    if (!first) tasks.edge(std::exchange(known->second, task), task);
  };
  std::vector<std::size_t> at(program_.ranks.size(), 0);
  std::vector<char> waits(program_.ranks.size(), 0);
  const auto ready = [&](std::size_t r) {
    const auto found = awaited[r].find(at[r]);
    return found == awaited[r].end() || found->second == 0;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
      const program::Row& row = program_.ranks[r].row;
      // A reduction takes a second turn, for its wait.
      if (std::exchange(waits[r], 0) != 0) {
        moved = true;
        continue;
      }
      bool more = true;
      while (more && at[r] < row.size() && ready(r)) {
        const std::size_t p = at[r]++;
        if (const auto found = made[r].find(p); found != made[r].end())
          for (const PostedMessage* each : found->second) {
            append(each->posted.sender, each->posted.task);
            append(each->posted.receiver, each->posted.task);
            --awaited[each->to_rank].at(static_cast<std::size_t>(each->awaited_at));
          }
        waits[r] = row[p].kind == ActionKind::reduce_gradient;
        more = goes_on(row, p);
        moved = true;
      }
    }
  }
}

}  // namespace penstock::sim
