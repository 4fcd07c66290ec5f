#include "tasks/group_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "penstock/collective/disjoint_rings.hpp"
#include "penstock/core/error.hpp"

namespace penstock::sim {

std::vector<collective::Message> GroupMessages::all_reduce(std::span<const core::DeviceId> group,
                                                           std::int64_t bytes) const {
  const collective::Algorithm* chosen = options_.collective.algorithm;
  if (chosen == nullptr)
    chosen = &collective::cheapest(cluster_, group, core::Bytes(bytes));
  else if (!chosen->fits(cluster_, group))
    chosen = &collective::algorithm("ring");
  return chosen->messages(cluster_, group, bytes);
}

std::vector<collective::Message> GroupMessages::all_gather(std::span<const core::DeviceId> group,
                                                           std::int64_t bytes) const {
  return collective::all_gather(cluster_, group, bytes);
}

Ready GroupMessages::add(const Task& like, const std::vector<collective::Message>& messages,
                         std::span<const core::DeviceId> group, const Ready& ready) {
  constexpr std::size_t kMostMessages = std::size_t{1} << 24;
  if ((messages_ += messages.size()) > kMostMessages)
    throw core::Error(core::ExitCode::limit,
                      fmt::format("collectives have more than {} messages: buckets may be larger, or "
                                  "collectives of closed form",
                                  kMostMessages));
  const auto first = static_cast<TaskId>(tasks_.size());
  std::vector<std::map<std::size_t, TaskId>> last(group.size());  // [member] last message from each sender
  for (const collective::Message& message : messages) {
    Task task = tasks_.transfer(group[message.from], group[message.to], message.bytes);
    task.stage = like.stage;
    task.kind = like.kind;
    task.micro_batch = like.micro_batch;
    const TaskId id = tasks_.add(task);
    for (const std::size_t m : message.after) tasks_.edge(first + static_cast<TaskId>(m), id);
    // Messages that this one builds on already made this end wait for what it needs.
    for (const std::size_t side : {message.from, message.to})
      if (std::ranges::none_of(message.after, [&](auto m) { return messages[m].to == side; }))
        for (const TaskId before : ready[side]) tasks_.edge(before, id);
    last[message.to][message.from] = id;
  }
  Ready done(group.size());
  for (std::size_t a = 0; a < group.size(); ++a)
    for (const auto& [sender, id] : last[a]) done[a].push_back(id);
  return done;
}

}  // namespace penstock::sim
